/** What the app remembered in this run, and a search of what it remembers of the user. */
import { useState, type FormEvent } from 'react';
import { explain, path, getJson } from '../../app/server';
import { conversationAt } from '../../film/conversation';
import type { Json as JsonValue } from '@adk-prism/client/film';
import type { Film } from '../../film/film';
import { JsonView } from '../../ui/Json';
import { EventLink } from '../../ui/elements';

const LOADS = 'load_memory'; // ADK's own tool.

type Memory = { author?: string; timestamp?: string; content?: { parts?: { text?: string }[] } };
type Found = { kind: 'idle' } | { kind: 'there'; memories: Memory[] } | { kind: 'failed'; why: string };
type Props = { film: Film; at: number; seek(cursor: number): void; isElsewhere: boolean };

export function Memories({ film, at, seek, isElsewhere }: Props) {
  const [query, setQuery] = useState('');
  const [found, setFound] = useState<Found>({ kind: 'idle' });
  const loads = conversationAt(film, at).filter(({ kind, name }) => kind === 'call' && name === LOADS);
  const search = async (event: FormEvent) => {
    event.preventDefault();
    if (!query.trim()) return;
    try {
      const { memories } = await getJson<{ memories: Memory[] }>(
        `${path('apps', film.app, 'users', film.user)}/memory?${new URLSearchParams({ query })}`,
      );
      setFound({ kind: 'there', memories });
    } catch (error) {
      setFound({ kind: 'failed', why: explain(error) });
    }
  };
  if (isElsewhere && !loads.length) return null;
  return (
    <section className="section memories">
      <h3>Memory</h3>
      {loads.map((load) => (
        <div key={load.since}>
          <span className="muted">
            Loaded at <EventLink cursor={load.since} seek={seek} />
          </span>
          <JsonView name="query" value={load.input} open={1} />
          {load.output !== undefined && <Entries memories={memoriesOf(load.output)} />}
        </div>
      ))}
      {!isElsewhere && (
        <form className="search-memory" role="search" onSubmit={search}>
          <input
            type="search"
            className="field"
            aria-label="Search the memories of this user"
            placeholder="Search what the app remembers"
            maxLength={1000}
            value={query}
            onChange={(event) => setQuery(event.target.value)}
          />
          <button type="submit" className="button">
            Search
          </button>
        </form>
      )}
      <div role="status">
        {found.kind === 'failed' && <p className="muted">{found.why}</p>}
        {found.kind === 'there' && <Entries memories={found.memories} />}
      </div>
    </section>
  );
}

/** What a tool answered need not be what ADK's would. */
function memoriesOf(output: JsonValue): Memory[] {
  const { memories, result } = (output ?? {}) as { memories?: unknown; result?: { memories?: unknown } };
  const list = memories ?? result?.memories;
  return Array.isArray(list) ? (list as Memory[]) : [];
}

const SHOWN = 100;

function Entries({ memories }: { memories: Memory[] }) {
  if (!memories.length) return <p className="muted">Nothing was found.</p>;
  return (
    <ul>
      {memories.slice(0, SHOWN).map((memory, index) => (
        <li key={index}>
          <span className="muted">
            {[memory?.author, memory?.timestamp].filter((word) => typeof word === 'string' && word).join(', ')}
          </span>
          <JsonView value={textOf(memory)} open={1} />
        </li>
      ))}
    </ul>
  );
}

function textOf(memory: Memory): unknown {
  const parts: unknown = memory?.content?.parts;
  const texts = Array.isArray(parts)
    ? parts.flatMap((part: { text?: unknown } | null) => (typeof part?.text === 'string' ? [part.text] : []))
    : [];
  return texts.length ? texts.join('\n') : memory;
}

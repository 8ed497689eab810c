/** The command palette: whatever can be reached on the page, by a few letters. */
import { useEffect, useId, useRef, useState, type KeyboardEvent } from 'react';
import { Icon } from '../ui/Icon';
import { addressOf, isUsable, titleOf, useCatalogue } from './catalogue';
import { matching, offeredCommands, type Command } from './commands';
import { startChat } from './drafts';
import { go, HOME, linkTo, parseRoute } from './route';
import { getJson } from './server';

type FoundRun = { run: string; app: string; title: string; outcome: string };
const TYPED_MS = 150;
const MOST_RUNS = '8';

/** Runs that fit what is typed, where the server can search them. */
function useRuns(text: string): readonly Command[] {
  const [runs, setRuns] = useState<readonly FoundRun[]>([]);
  useEffect(() => {
    if (text.trim().length < 2) return setRuns([]);
    const leaving = new AbortController();
    const timer = setTimeout(() => {
      const query = new URLSearchParams({ text, limit: MOST_RUNS });
      getJson<FoundRun[]>(`api/runs?${query}`, leaving.signal).then(setRuns, () => undefined);
    }, TYPED_MS);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [text]);
  return runs.map(({ run, app, title, outcome }) => ({
    id: `run ${run}`,
    group: 'Runs',
    title: title || 'Continues an earlier message',
    hint: `${text} ${app} ${outcome}`,
    icon: 'play',
    run: () => go(parseRoute(linkTo({ kind: 'run', run }))),
  }));
}

export default function Palette({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  const [offered] = useState(offeredCommands);
  const { apps, conversations } = useCatalogue();
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);
  const all: Command[] = [
    ...offered,
    {
      id: 'home',
      group: 'Actions',
      title: 'Home',
      hint: 'h',
      words: 'connect your agent, server settings, recordings, open a file',
      icon: 'home',
      run: () => go(HOME),
    },
    ...(apps ?? []).filter(isUsable).map(
      (app): Command => ({
        id: `app ${app.name}`,
        group: 'Apps',
        title: `New chat with ${titleOf(app)}`,
        hint: app.name,
        icon: 'plus',
        run: () => startChat(app.name),
      }),
    ),
    ...(conversations ?? []).map(
      (entry): Command => ({
        id: `chat ${entry.app} ${entry.session}`,
        group: 'Conversations',
        title: entry.title || 'Conversation',
        hint: entry.app,
        icon: 'text',
        run: () => go(parseRoute(addressOf(entry))),
      }),
    ),
    ...useRuns(text),
  ];
  const found = matching(all, text);
  const current = Math.min(chosen, found.length - 1);
  const perform = (command: Command | undefined) => {
    if (!command) return;
    dialog.current?.close();
    command.run();
  };
  const press = (event: KeyboardEvent) => {
    const acts: Record<string, () => void> = {
      ArrowDown: () => setChosen((current + 1) % Math.max(1, found.length)),
      ArrowUp: () => setChosen((current - 1 + found.length) % Math.max(1, found.length)),
      Enter: () => perform(found[current]),
    };
    const act = acts[event.key];
    if (!act || event.nativeEvent.isComposing) return;
    event.preventDefault();
    act();
  };
  return (
    <dialog
      className="dialog palette"
      ref={dialog}
      aria-label="Commands"
      onClose={onClose}
      onClick={(event) => event.target === dialog.current && dialog.current.close()}
    >
      <input
        className="field"
        role="combobox"
        autoFocus
        aria-label="Search commands, conversations, runs and steps"
        placeholder="Search commands, conversations, runs and steps"
        aria-expanded="true"
        aria-controls={`${id}list`}
        aria-activedescendant={found[current] ? `${id}${current}` : undefined}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(0);
        }}
        onKeyDown={press}
      />
      <div className="palette-list" role="listbox" id={`${id}list`} aria-label="Commands" tabIndex={-1}>
        {found.map((command, index) => (
          <Option
            key={command.id}
            id={`${id}${index}`}
            command={command}
            isFirst={found[index - 1]?.group !== command.group}
            isChosen={index === current}
            onPick={() => perform(command)}
          />
        ))}
      </div>
      {found.length === 0 && <p className="quiet palette-none">Nothing found.</p>}
    </dialog>
  );
}

type OptionProps = { id: string; command: Command; isFirst: boolean; isChosen: boolean; onPick(): void };

function Option({ id, command, isFirst, isChosen, onPick }: OptionProps) {
  const line = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isChosen) line.current?.scrollIntoView({ block: 'nearest' });
  }, [isChosen]);
  return (
    <>
      {isFirst && (
        <div className="palette-group" role="presentation">
          {command.group}
        </div>
      )}
      <div
        ref={line}
        id={id}
        role="option"
        tabIndex={-1}
        className="palette-option"
        aria-selected={isChosen}
        onClick={onPick}
      >
        <Icon name={command.icon} />
        <span className="palette-title">{command.title}</span>
        {command.hint && command.group !== 'Runs' && <span className="quiet">{command.hint}</span>}
      </div>
    </>
  );
}

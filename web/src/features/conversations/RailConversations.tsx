/** Conversations in the rail: search, open, name in place, pin, delete with an undo. */
import {
  memo,
  startTransition,
  useCallback,
  useDeferredValue,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from 'react';
import { Icon, type IconName } from '../../ui/Icon';
import type { Kind } from '../../ui/Kind';
import { shorten } from '../../ui/Copy';
import { Time } from '../../ui/elements';
import { addressOf, useCatalogue, type ConversationEntry } from '../../app/catalogue';
import { explain, SERVER } from '../../app/server';
import { currentRoute, go, HOME, useRoute } from '../../app/route';
import { deleteChat, pinChat, renameChat, restoreChat, type Connection, type Conversation } from '@adk-prism/client';

/** The list of conversations in order: those that fit a search, pinned ones first, then by the day they were active. */
export type Group = { title: string; entries: ConversationEntry[] };

const DAY = 24 * 3600 * 1000;

/** Return those with all words of a text in their title or first message. */
export function matching(entries: readonly ConversationEntry[], text: string): readonly ConversationEntry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return entries;
  return entries.filter(({ title, said }) => {
    const all = `${title} ${said ?? ''}`.toLowerCase();
    return words.every((word) => all.includes(word));
  });
}

/** Group entries, which come newest first, by when they were active; `now` in milliseconds. */
export function grouped(entries: readonly ConversationEntry[], now: number): Group[] {
  const today = new Date(now).setHours(0, 0, 0, 0);
  const groups = new Map<string, ConversationEntry[]>();
  for (const entry of entries) {
    const title = entry.pinned ? 'Pinned' : dayOf(entry.active * 1000, today);
    const group = groups.get(title) ?? [];
    group.push(entry);
    groups.set(title, group);
  }
  return [...groups].map(([title, list]) => ({ title, entries: list }));
}

function dayOf(at: number, today: number): string {
  if (at >= today) return 'Today';
  if (at >= today - DAY) return 'Yesterday';
  if (at >= today - 7 * DAY) return 'Last 7 days';
  return 'Older';
}

/** Entries that are drawn at first, and whenever the end of the list comes into view. */
const AT_ONCE = 30;
/** A list that is shorter than this can be looked through. */
const SEARCHED_FROM = 6;

export function RailConversations() {
  const { conversations, refresh, loadAll } = useCatalogue();
  const [text, setText] = useState('');
  const [gone, setGone] = useState<ConversationEntry | null>(null);
  const [problem, setProblem] = useState('');
  const wanted = useDeferredValue(text);
  const found = useMemo(() => matching(conversations ?? [], wanted), [conversations, wanted]);
  const [shown, setShown] = useState(AT_ONCE);
  const [{ place }] = useRoute();
  const act = useCallback(
    async (doing: Promise<unknown>) => {
      setProblem('');
      try {
        await doing;
      } catch (error) {
        setProblem(explain(error));
      }
      refresh();
    },
    [refresh],
  );
  const change = useCallback(
    (entry: ConversationEntry, given: Change) => void act(changeConversation(entry, given)),
    [act],
  );
  const remove = useCallback(
    async (entry: ConversationEntry) => {
      await act(deleteConversation(entry).then(() => setGone(entry)));
      if (isAt(currentRoute().place, entry)) go(HOME);
    },
    [act],
  );
  const undo = async (entry: ConversationEntry) => {
    setGone(null);
    await act(restoreConversation(entry));
  };
  if (!conversations) return null;
  const [recordings, chats] = [
    found.slice(0, shown).filter((entry) => entry.uploaded),
    found.slice(0, shown).filter((entry) => !entry.uploaded),
  ];
  const groups = [...grouped(chats, Date.now()), { title: 'Recordings', entries: recordings }].filter(
    ({ entries }) => entries.length > 0,
  );
  return (
    <>
      {(conversations.length >= SEARCHED_FROM || text) && (
        <input
          type="search"
          className="field rail-search"
          aria-label="Search conversations"
          placeholder="Search conversations"
          value={text}
          onFocus={loadAll}
          onChange={(event) => {
            setText(event.target.value);
            setShown(AT_ONCE);
          }}
        />
      )}
      {gone && (
        <div className="rail-notice" role="status">
          <span>{`Deleted “${nameOf(gone)}”.`}</span>
          <button type="button" className="button" data-keep="" onClick={() => void undo(gone)}>
            Undo
          </button>
          <button
            type="button"
            className="button"
            data-look="quiet"
            data-square=""
            data-keep=""
            aria-label="Dismiss"
            onClick={() => setGone(null)}
          >
            <Icon name="cross" />
          </button>
        </div>
      )}
      {problem && (
        <p className="rail-notice" role="alert">
          {problem}
        </p>
      )}
      {wanted && found.length === 0 && <p className="rail-notice">No conversation has these words.</p>}
      {groups.map(({ title, entries }) => (
        <section key={title} aria-label={title}>
          <h2>{title}</h2>
          <ul className="rail-list">
            {entries.map((entry) => (
              <Entry
                key={`${entry.app} ${entry.session}`}
                entry={entry}
                isHere={isAt(place, entry)}
                change={change}
                remove={remove}
              />
            ))}
          </ul>
        </section>
      ))}
      <ListEnd
        key={found.length > shown ? shown : `all ${conversations.length}`}
        onSeen={() => (found.length > shown ? startTransition(() => setShown(shown + AT_ONCE)) : loadAll())}
      />
    </>
  );
}

/** The end of the list; calls when it comes into view. */
function ListEnd({ onSeen }: { onSeen: () => void }) {
  const end = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list makes a new component for each of its lengths
  useEffect(() => {
    const watch = new IntersectionObserver((changes) => changes.at(-1)!.isIntersecting && onSeen());
    watch.observe(end.current!);
    return () => watch.disconnect();
  }, []);
  return <div ref={end} className="rail-end" />;
}

const FACES: Record<string, { icon: IconName; kind: Kind; word: string }> = {
  failed: { icon: 'error', kind: 'error', word: 'Failed' },
  waiting: { icon: 'approval', kind: 'approval', word: 'Waiting for you' },
  cancelled: { icon: 'stop', kind: 'neutral', word: 'Stopped' },
  incomplete: { icon: 'error', kind: 'error', word: 'Incomplete' },
  running: { icon: 'play', kind: 'text', word: 'Running' },
};

function isAt(place: ReturnType<typeof useRoute>[0]['place'], entry: ConversationEntry): boolean {
  return (
    (place.kind === 'chat' && place.session === entry.session) || (place.kind === 'run' && place.run === entry.run)
  );
}

function nameOf(entry: ConversationEntry): string {
  return entry.title || shorten(entry.session, 24);
}

type Change = { title?: string; pinned?: boolean };
type EntryProps = {
  entry: ConversationEntry;
  isHere: boolean;
  change: (entry: ConversationEntry, given: Change) => void;
  remove: (entry: ConversationEntry) => void;
};

const Entry = memo(function Entry({ entry, isHere, change, remove }: EntryProps) {
  const [name, setName] = useState<string | null>(null);
  const title = useId();
  const face = FACES[entry.outcome ?? 'running'];
  const save = () => {
    if (name !== null && name.trim() !== entry.title) change(entry, { title: name });
    setName(null);
  };
  if (name !== null) {
    return (
      <li>
        <input
          className="field rail-name"
          autoFocus
          maxLength={120}
          aria-label="Name of the conversation"
          value={name}
          onFocus={(event) => event.target.select()}
          onChange={(event) => setName(event.target.value)}
          onBlur={save}
          onKeyDown={(event) => (event.key === 'Enter' ? save() : event.key === 'Escape' && setName(null))}
        />
      </li>
    );
  }
  return (
    <li>
      <a className="rail-item" href={addressOf(entry)} aria-current={isHere ? 'page' : undefined} title={nameOf(entry)}>
        <span className="rail-title" id={title}>
          {nameOf(entry)}
        </span>
        <span className="rail-facts">
          {entry.app} · <Time at={entry.active} />
          {face && (
            <span className="rail-state" data-kind={face.kind} title={face.word}>
              <Icon name={face.icon} />
              <span className="visually-hidden">{face.word}</span>
            </span>
          )}
        </span>
      </a>
      <span className="rail-actions">
        <Action icon="edit" label="Rename" about={title} onClick={() => setName(nameOf(entry))} />
        <Action
          icon="pin"
          label="Pin"
          about={title}
          pressed={entry.pinned}
          onClick={() => change(entry, { pinned: !entry.pinned })}
        />
        <Action icon="trash" label="Delete" about={title} onClick={() => remove(entry)} />
      </span>
    </li>
  );
});

function Action({
  icon,
  label,
  about,
  pressed,
  onClick,
}: {
  icon: IconName;
  label: string;
  about: string;
  pressed?: boolean;
  onClick: () => void;
}) {
  return (
    <button
      type="button"
      className="button"
      data-look="quiet"
      data-square=""
      data-keep=""
      aria-label={label}
      aria-describedby={about}
      aria-pressed={pressed}
      title={label}
      onClick={onClick}
    >
      <Icon name={icon} />
    </button>
  );
}

/** What a person does with a conversation in the list: name, pin, delete, restore. */
type Named = Pick<Conversation, 'app' | 'session' | 'user'>;

function appOf({ app, user }: Named): Connection {
  return { ...SERVER, app, userId: user };
}

/** Change what is given; an empty title is the first message again. */
export async function changeConversation(
  entry: Named,
  { title, pinned }: { title?: string; pinned?: boolean },
): Promise<void> {
  if (title !== undefined) await renameChat(appOf(entry), entry.session, title);
  if (pinned !== undefined) await pinChat(appOf(entry), entry.session, pinned);
}

export function deleteConversation(entry: Named): Promise<void> {
  return deleteChat(appOf(entry), entry.session);
}

export function restoreConversation(entry: Named): Promise<void> {
  return restoreChat(appOf(entry), entry.session);
}

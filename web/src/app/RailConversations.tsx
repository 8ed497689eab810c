/** Conversations in the rail: search, open, name in place, pin, delete with an undo. */
import { memo, startTransition, useCallback, useDeferredValue, useEffect, useId, useMemo, useRef, useState } from 'react';
import { Icon, type IconName } from '../ui/Icon';
import type { Kind } from '../ui/Kind';
import { shorten } from '../ui/Id';
import { Time } from '../ui/Time';
import { useCatalogue, type ConversationEntry } from './catalogue';
import * as actions from './conversationActions';
import { grouped, matching } from './conversationList';
import { explain } from './problem';
import { currentRoute, formatRoute, go, HOME, linkTo, useRoute } from './route';
import * as words from '../words/app';

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
  const change = useCallback((entry: ConversationEntry, given: Change) => void act(actions.change(entry, given)), [act]);
  const remove = useCallback(
    async (entry: ConversationEntry) => {
      await act(actions.remove(entry).then(() => setGone(entry)));
      if (isAt(currentRoute().place, entry)) go(HOME);
    },
    [act],
  );
  const undo = async (entry: ConversationEntry) => {
    setGone(null);
    await act(actions.restore(entry));
  };
  if (!conversations) return null;
  const [recordings, chats] = [found.slice(0, shown).filter((entry) => entry.uploaded), found.slice(0, shown).filter((entry) => !entry.uploaded)];
  const groups = [...grouped(chats, Date.now()), { title: words.recordings, entries: recordings }].filter(({ entries }) => entries.length > 0);
  return (
    <>
      {(conversations.length >= SEARCHED_FROM || text) && (
        <input type="search" className="field rail-search" aria-label={words.searchConversations} placeholder={words.searchConversations} value={text} onFocus={loadAll} onChange={(event) => (setText(event.target.value), setShown(AT_ONCE))} />
      )}
      {gone && (
        <div className="rail-notice" role="status">
          <span>{words.deleted(nameOf(gone))}</span>
          <button type="button" className="button" data-keep="" onClick={() => void undo(gone)}>
            {words.undo}
          </button>
          <button type="button" className="button" data-look="quiet" data-square="" data-keep="" aria-label={words.dismiss} onClick={() => setGone(null)}>
            <Icon name="cross" />
          </button>
        </div>
      )}
      {problem && (
        <p className="rail-notice" role="alert">
          {problem}
        </p>
      )}
      {wanted && found.length === 0 && <p className="rail-notice">{words.noConversationHasTheseWords}</p>}
      {groups.map(({ title, entries }) => (
        <section key={title} aria-label={title}>
          <h2>{title}</h2>
          <ul className="rail-list">
            {entries.map((entry) => (
              <Entry key={`${entry.app} ${entry.session}`} entry={entry} isHere={isAt(place, entry)} change={change} remove={remove} />
            ))}
          </ul>
        </section>
      ))}
      <ListEnd key={found.length > shown ? shown : `all ${conversations.length}`} onSeen={() => (found.length > shown ? startTransition(() => setShown(shown + AT_ONCE)) : loadAll())} />
    </>
  );
}

/** The end of the list; calls when it comes into view. */
function ListEnd({ onSeen }: { onSeen: () => void }) {
  const end = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const watch = new IntersectionObserver((changes) => changes.at(-1)!.isIntersecting && onSeen());
    watch.observe(end.current!);
    return () => watch.disconnect();
    // Made anew for each length of the list.
  }, []);
  return <div ref={end} className="rail-end" />;
}

const FACES: Record<string, { icon: IconName; kind: Kind; word: string }> = {
  failed: { icon: 'error', kind: 'error', word: words.failed },
  waiting: { icon: 'approval', kind: 'approval', word: words.waitingForYou },
  cancelled: { icon: 'stop', kind: 'neutral', word: words.stopped },
  incomplete: { icon: 'error', kind: 'error', word: words.incomplete },
  running: { icon: 'play', kind: 'text', word: words.running },
};

/** Where a conversation is opened: a chat of this server, or a recording as the run that it is. */
export function addressOf({ uploaded, run, app, session, user }: ConversationEntry): string {
  if (uploaded) return linkTo({ kind: 'run', run });
  const options: Record<string, string> = user === 'user' ? {} : { user };
  return formatRoute({ ...HOME, place: { kind: 'chat', app, session }, options });
}

function isAt(place: ReturnType<typeof useRoute>[0]['place'], entry: ConversationEntry): boolean {
  return (place.kind === 'chat' && place.session === entry.session) || (place.kind === 'run' && place.run === entry.run);
}

function nameOf(entry: ConversationEntry): string {
  return entry.title || shorten(entry.session, 24);
}

type Change = { title?: string; pinned?: boolean };
type EntryProps = { entry: ConversationEntry; isHere: boolean; change: (entry: ConversationEntry, given: Change) => void; remove: (entry: ConversationEntry) => void };

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
        <input className="field rail-name" autoFocus maxLength={120} aria-label={words.nameOfTheConversation} value={name} onFocus={(event) => event.target.select()} onChange={(event) => setName(event.target.value)} onBlur={save} onKeyDown={(event) => (event.key === 'Enter' ? save() : event.key === 'Escape' && setName(null))} />
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
        <Action icon="edit" label={words.rename} about={title} onClick={() => setName(nameOf(entry))} />
        <Action icon="pin" label={words.pin} about={title} pressed={entry.pinned} onClick={() => change(entry, { pinned: !entry.pinned })} />
        <Action icon="trash" label={words.deleteLabel} about={title} onClick={() => remove(entry)} />
      </span>
    </li>
  );
});

function Action({ icon, label, about, pressed, onClick }: { icon: IconName; label: string; about: string; pressed?: boolean; onClick: () => void }) {
  return (
    <button type="button" className="button" data-look="quiet" data-square="" data-keep="" aria-label={label} aria-describedby={about} aria-pressed={pressed} title={label} onClick={onClick}>
      <Icon name={icon} />
    </button>
  );
}

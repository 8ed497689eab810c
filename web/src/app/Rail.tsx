/** The left rail: apps to start with, and what was active last. */
import { Icon, type IconName } from '../ui/Icon';
import type { Kind } from '../ui/Kind';
import { shorten } from '../ui/Id';
import { Time } from '../ui/Time';
import { isUsable, useCatalogue, type ConversationEntry } from './catalogue';
import { startChat } from './newChat';
import { formatRoute, HOME, linkTo, useRoute } from './route';

export function Rail({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const { apps, conversations } = useCatalogue();
  const chats = conversations?.filter((entry) => !entry.uploaded) ?? [];
  const recordings = conversations?.filter((entry) => entry.uploaded) ?? [];
  return (
    <nav className="rail" aria-label="Apps and conversations" data-open={isOpen || undefined} onClick={(event) => event.target instanceof Element && event.target.closest('a, button') && onClose()}>
      <a className="rail-item" href={linkTo({ kind: 'home' })}>
        <Icon name="home" /> Home
      </a>
      <a className="rail-item" href={linkTo({ kind: 'search' })}>
        <Icon name="search" /> Search runs
      </a>
      <h2>New chat</h2>
      <ul>
        {apps?.map((app) => (
          <li key={app.name}>
            <button type="button" className="rail-item" disabled={!isUsable(app)} title={app.error ?? app.problem ?? `New chat with ${app.name}`} onClick={() => startChat(app.name)}>
              <Icon name={isUsable(app) ? 'plus' : 'error'} />
              <span>{app.name}</span>
            </button>
          </li>
        ))}
      </ul>
      <Entries title="Conversations" entries={chats} />
      <Entries title="Recordings" entries={recordings} />
    </nav>
  );
}

function Entries({ title, entries }: { title: string; entries: readonly ConversationEntry[] }) {
  if (entries.length === 0) return null;
  return (
    <>
      <h2>{title}</h2>
      <ul className="rail-list">
        {entries.map((entry) => (
          <Entry key={entry.session} entry={entry} />
        ))}
      </ul>
    </>
  );
}

const FACES: Record<string, { icon: IconName; kind: Kind; word: string }> = {
  failed: { icon: 'error', kind: 'error', word: 'Failed' },
  waiting: { icon: 'approval', kind: 'approval', word: 'Waiting for you' },
  cancelled: { icon: 'stop', kind: 'neutral', word: 'Stopped' },
  incomplete: { icon: 'error', kind: 'error', word: 'Incomplete' },
  running: { icon: 'play', kind: 'text', word: 'Running' },
};

/** Where a conversation is opened: a chat of this server, or a recording as the run that it is. */
export function addressOf({ uploaded, run, app, session, user }: ConversationEntry): string {
  if (uploaded) return linkTo({ kind: 'run', run });
  const options: Record<string, string> = user === 'user' ? {} : { user };
  return formatRoute({ ...HOME, place: { kind: 'chat', app, session }, options });
}

function Entry({ entry }: { entry: ConversationEntry }) {
  const [{ place }] = useRoute();
  const isHere = (place.kind === 'chat' && place.session === entry.session) || (place.kind === 'run' && place.run === entry.run);
  const face = FACES[entry.outcome ?? 'running'];
  return (
    <li>
      <a className="rail-item" href={addressOf(entry)} aria-current={isHere ? 'page' : undefined}>
        <span className="rail-title">{entry.title || shorten(entry.session, 24)}</span>
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
    </li>
  );
}

/** The left rail: apps to start with, and what was active last. */
import { Suspense } from 'react';
import { Icon } from '../ui/Icon';
import { isUsable, useCatalogue } from './catalogue';
import { lazyWithRetry } from './lazyWithRetry';
import { startChat } from './newChat';
import { linkTo } from './route';
import * as words from '../words/app';

const RailConversations = lazyWithRetry(async () => ({ default: (await import('./RailConversations')).RailConversations }));

export function Rail({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const { apps } = useCatalogue();
  return (
    <nav className="rail" aria-label={words.appsAndConversations} data-open={isOpen || undefined} onClick={(event) => event.target instanceof Element && event.target.closest('a, button:not([data-keep])') && onClose()}>
      <a className="rail-item" href={linkTo({ kind: 'home' })}>
        <Icon name="home" /> {words.home}
      </a>
      <a className="rail-item" href={linkTo({ kind: 'search' })}>
        <Icon name="search" /> {words.searchRuns}
      </a>
      <h2>{words.newChat}</h2>
      <ul>
        {apps?.map((app) => (
          <li key={app.name}>
            <button type="button" className="rail-item" disabled={!isUsable(app)} title={app.error ?? app.problem ?? words.newChatWith(app.name)} onClick={() => startChat(app.name)}>
              <Icon name={isUsable(app) ? 'plus' : 'error'} />
              <span>{app.name}</span>
            </button>
          </li>
        ))}
      </ul>
      <Suspense>
        <RailConversations />
      </Suspense>
    </nav>
  );
}

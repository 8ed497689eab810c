/** The shell: bar, rail, and the place that the address bar names. */
import { lazy, Suspense, useEffect, useState } from 'react';
import { shared } from '../film/sharedFile';
import { CatalogueContext, useLoadedCatalogue } from './catalogue';
import { Failure } from './Failure';
import { introduce, useIdentity, type Identity } from './identity';
import { useKeys } from './keys';
import { lazyWithRetry } from './lazyWithRetry';
import { Rail } from './Rail';
import { go, HOME, useRoute } from './route';
import { useTheme } from './theme';
import { TopBar } from './TopBar';
import * as words from '../words/app';
import './app.css';

const KeysDialog = lazyWithRetry(() => import('./KeysDialog'));
const Account = lazyWithRetry(() => import('./Account'));
const SignIn = lazyWithRetry(() => import('./SignIn'));
// Where one goes to has nothing to stand in its place: a failure is told at once.
const Home = lazy(() => import('../home/Home'));
const SearchPage = lazy(() => import('../search/SearchPage'));
const ChatPage = lazy(() => import('../workspace/ChatPage'));
const RunPage = lazy(() => import('../workspace/RunPage'));
const EvalsPage = lazy(() => import('../evals/EvalsPage'));
const ComparePage = lazy(() => import('../compare/ComparePage'));

/** What a server that asks nobody calls whoever names nobody. */
const ANYBODY = 'user';

export function App() {
  return shared() ? <SharedApp /> : <ServedApp />;
}

function ServedApp() {
  const catalogue = useLoadedCatalogue();
  const [theme, nextTheme] = useTheme();
  const [isHelp, setHelp] = useState(false);
  const [isRail, setRail] = useState(false);
  const [{ place }] = useRoute();
  const identity = useIdentity();
  useEffect(() => void introduce(), []);
  useKeys({ help: () => setHelp(true), home: () => go(HOME) });
  return (
    <CatalogueContext value={catalogue}>
      <div className="app" data-place={place.kind}>
        <a className="skip" href="#main" onClick={skip}>
          {words.skipToContent}
        </a>
        <TopBar theme={theme} onTheme={nextTheme} onHelp={() => setHelp(true)} onRail={() => setRail(!isRail)}>
          <Suspense>{needsAccount(identity) && <Account identity={identity} />}</Suspense>
        </TopBar>
        <Rail isOpen={isRail} onClose={() => setRail(false)} />
        <main id="main" tabIndex={-1}>
          <Failure what={words.thisPage} key={keyOf(place)}>
            <Suspense fallback={<div className="skeleton page-skeleton" />}>
              <Content />
            </Suspense>
          </Failure>
        </main>
        <Suspense>{isHelp && <KeysDialog onClose={() => setHelp(false)} />}</Suspense>
        <Suspense>{identity.kind === 'asking' && <SignIn before={identity.before} />}</Suspense>
      </div>
    </CatalogueContext>
  );
}

function needsAccount(identity: Identity): boolean {
  switch (identity.kind) {
    case 'unknown':
      return false;
    case 'known':
      return identity.user !== null;
    case 'asking':
      return identity.before !== null;
    case 'declined':
      return true;
  }
}

/** A run in a file, without a server: there is nothing else to go to. */
function SharedApp() {
  const [theme, nextTheme] = useTheme();
  const [isHelp, setHelp] = useState(false);
  useKeys({ help: () => setHelp(true) });
  const run = shared()?.film.run ?? '';
  return (
    <div className="app" data-place="run" data-shared="">
      <TopBar theme={theme} onTheme={nextTheme} onHelp={() => setHelp(true)} onRail={null} />
      <main id="main">
        <Suspense fallback={null}>
          <RunPage run={run} />
        </Suspense>
      </main>
      <Suspense>{isHelp && <KeysDialog onClose={() => setHelp(false)} />}</Suspense>
    </div>
  );
}

function Content() {
  const [{ place, options }] = useRoute();
  const identity = useIdentity();
  switch (place.kind) {
    case 'home':
      return <Home />;
    case 'search':
      return <SearchPage />;
    case 'chat': {
      // A link without a user is to a chat of whoever follows it.
      const user = options.user ?? ownName(identity);
      if (user === null) return <div className="skeleton page-skeleton" />;
      return <ChatPage key={`${place.app}/${user}/${place.session}`} where={{ app: place.app, session: place.session, user }} />;
    }
    case 'run':
      return <RunPage key={place.run} run={place.run} />;
    case 'evals':
      return <EvalsPage key={place.app} app={place.app} />;
    case 'compare':
      return <ComparePage key={`${place.a}/${place.b}`} a={place.a} b={place.b} />;
  }
}

/** Return whose a chat is that names nobody; null until that is known. */
function ownName(identity: Identity): string | null {
  switch (identity.kind) {
    case 'unknown':
      return null;
    case 'known':
      return identity.user ?? ANYBODY;
    case 'asking':
      return identity.before;
    case 'declined':
      return ANYBODY;
  }
}

function keyOf(place: { kind: string; run?: string; app?: string; session?: string; a?: string; b?: string | null }): string {
  return [place.kind, place.run, place.app, place.session, place.a, place.b].join('/');
}

// The address bar is the page's state: a link to a fragment would lose it.
function skip(event: { preventDefault(): void }): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

/** The shell: bar, rail, and the place that the address bar names. */
import {
  lazy,
  Suspense,
  useEffect,
  useRef,
  useState,
  type ComponentType,
  type HTMLAttributes,
  type ReactNode,
} from 'react';
import { shared } from '../film/sharedFile';
import { CatalogueContext, useLoadedCatalogue, isUsable, useCatalogue } from './catalogue';
import { Failure, lazyWithRetry } from './Failure';
import { introduce, useIdentity, type Identity } from './server';
import { useCommands } from './commands';
import { useKeys } from './keys';
import { go, HOME, type Place, useRoute, linkTo } from './route';
import { HeaderPlace } from './headerPlace';
import { Icon } from '../ui/Icon';
import { startChat } from './drafts';
import { useFeatures } from '../features/registry';
import './app.css';
import './palette.css';

/** Light, dark, or as the system says; remembered. */
const THEMES = ['system', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];

const KEY = 'prism:theme';

function remembered(): Theme {
  try {
    return THEMES.find((theme) => theme === localStorage.getItem(KEY)) ?? 'system';
  } catch {
    return 'system';
  }
}

function themeAfter(theme: Theme): Theme {
  return THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system';
}

function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(remembered);
  useEffect(() => {
    if (theme === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // Not remembered, then.
    }
  }, [theme]);
  return [theme, setTheme];
}

/** The left rail: apps to start with, and what was active last. */
function Rail({ isOpen, onClose, foot }: { isOpen: boolean; onClose: () => void; foot: ReactNode }) {
  const { apps } = useCatalogue();
  const features = useFeatures();
  useDrawerKeys(isOpen, onClose);
  const swipe = useSwipeAway(onClose);
  return (
    <nav
      className="rail"
      aria-label="Apps and conversations"
      data-open={isOpen || undefined}
      {...swipe}
      onClick={(event) =>
        event.target instanceof Element && event.target.closest('a, button:not([data-keep])') && onClose()
      }
    >
      <a className="rail-item" href={linkTo({ kind: 'home' })}>
        <Icon name="home" /> Home
      </a>
      {features.map(
        ({ railLink }) =>
          railLink && (
            <a key={railLink.title} className="rail-item" href={linkTo(railLink.place)}>
              <Icon name={railLink.icon} /> {railLink.title}
            </a>
          ),
      )}
      <h2>New chat</h2>
      <ul>
        {apps?.map((app) => (
          <li key={app.name}>
            <button
              type="button"
              className="rail-item"
              disabled={!isUsable(app)}
              title={app.error ?? app.problem ?? `New chat with ${app.name}`}
              onClick={() => startChat(app.name)}
            >
              <Icon name={isUsable(app) ? 'plus' : 'error'} />
              <span>{app.name}</span>
            </button>
          </li>
        ))}
      </ul>
      <Suspense>{features.map(({ name, InRail }) => InRail && <InRail key={name} />)}</Suspense>
      <div className="rail-foot">{foot}</div>
    </nav>
  );
}

/** A drawer is closed by Escape, before anybody else hears of it. */
function useDrawerKeys(isOpen: boolean, onClose: () => void): void {
  const latest = useRef(onClose);
  useEffect(() => {
    latest.current = onClose;
  });
  useEffect(() => {
    if (!isOpen) return;
    const press = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || document.querySelector('dialog[open]')) return;
      event.stopPropagation();
      latest.current();
    };
    addEventListener('keydown', press, true);
    return () => removeEventListener('keydown', press, true);
  }, [isOpen]);
}

const SWIPE = 60; // Pixels that a finger moves to the left to close the drawer.

function useSwipeAway(onClose: () => void): Pick<HTMLAttributes<HTMLElement>, 'onTouchStart' | 'onTouchEnd'> {
  const from = useRef<{ x: number; y: number } | null>(null);
  return {
    onTouchStart: ({ touches }) => (from.current = { x: touches[0]!.clientX, y: touches[0]!.clientY }),
    onTouchEnd: ({ changedTouches }) => {
      const touch = changedTouches[0];
      if (!touch || !from.current) return;
      const [x, y] = [from.current.x - touch.clientX, Math.abs(from.current.y - touch.clientY)];
      if (x > SWIPE && x > 2 * y) onClose();
    },
  };
}

/** One ray in, a spectrum out: the hues of the kinds of facts. */
const RAYS = ['error', 'approval', 'state', 'proof', 'tool', 'text', 'reasoning', 'media'] as const;

function Logo() {
  return (
    <svg className="logo" viewBox="0 0 26 20" aria-hidden="true">
      <path d="M0 12.6 8 10" />
      {RAYS.map((kind, index) => (
        <path key={kind} data-kind={kind} d={`M${12.6 + index * 0.35} ${8 + index * 0.85} L26 ${4 + index * 1.9}`} />
      ))}
      <path d="M11 2.500 4.500 17h13Z" className="glass" />
    </svg>
  );
}

type Props = {
  /** Take the element in which the page shows what it is about. */
  setPlace: (place: HTMLElement | null) => void;
  onRail: (() => void) | null;
  /** Open the command palette; null where there is nothing to go to. */
  onPalette: (() => void) | null;
  more: ReactNode;
  children?: ReactNode;
};

const IS_MAC = /Mac|iPhone|iPad/.test(navigator.userAgent);

function TopBar({ setPlace, onRail, onPalette, more, children }: Props) {
  return (
    <header className="topbar">
      {onRail && (
        <button
          type="button"
          className="button rail-toggle"
          data-look="quiet"
          data-square=""
          aria-label="Apps and conversations"
          onClick={onRail}
        >
          <Icon name="menu" />
        </button>
      )}
      <a className="brand" href={linkTo({ kind: 'home' })} aria-label="adk-prism, home">
        <Logo />
        <span>adk-prism</span>
      </a>
      <div className="topbar-place" ref={setPlace} />
      <div className="topbar-search">
        {onPalette && (
          <button
            type="button"
            className="button palette-open"
            title="Search commands, conversations, runs and steps (Ctrl K)"
            aria-keyshortcuts="Control+K Meta+K"
            onClick={onPalette}
          >
            <Icon name="search" /> <span>Search or jump to…</span>{' '}
            <kbd aria-hidden="true">{IS_MAC ? '⌘K' : 'Ctrl K'}</kbd>
          </button>
        )}
      </div>
      {children}
      <div className="topbar-more">{more}</div>
    </header>
  );
}

/** Where there is no room in the bar, they are in the drawer. */
function MoreButtons({ theme, onTheme, onHelp }: { theme: Theme; onTheme: () => void; onHelp: () => void }) {
  return (
    <>
      <button
        type="button"
        className="button"
        data-look="quiet"
        data-square=""
        title={`Theme: ${theme}`}
        aria-label={`Theme: ${theme}`}
        onClick={onTheme}
      >
        <Icon name={theme} />
      </button>
      <button
        type="button"
        className="button"
        data-look="quiet"
        data-square=""
        title="Keyboard shortcuts (?)"
        aria-label="Keyboard shortcuts"
        onClick={onHelp}
      >
        <Icon name="help" />
      </button>
    </>
  );
}

const KeysDialog = lazyWithRetry(() => import('./KeysDialog'));
/** Behind the first load, which it would make slower. */
const SOON_MS = 1500;

const LazyPalette = lazyWithRetry(() => import('./Palette'));
/** What was loaded ahead is drawn at once, with the key that asks for it; what is lazy, some moments later. */
let palette: typeof LazyPalette | typeof import('./Palette').default = LazyPalette;

async function loadPalette(): Promise<void> {
  palette = (await import('./Palette').catch(() => null))?.default ?? palette;
}
const Account = lazyWithRetry(() => import('./Account'));
const SignIn = lazyWithRetry(() => import('./SignIn'));
// A page that cannot be loaded says so at once: there is nothing to show in its place.
const Home = lazy(() => import('../home/Home'));
const ChatPage = lazy(() => import('../workspace/ChatPage'));
const RunPage = lazy(() => import('../workspace/RunPage'));

/** What a server that asks nobody calls whoever names nobody. */
const ANYBODY = 'user';

export function App() {
  return shared() ? <SharedApp /> : <ServedApp />;
}

function ServedApp() {
  const catalogue = useLoadedCatalogue();
  const features = useFeatures();
  const [theme, setTheme] = useTheme();
  const nextTheme = () => setTheme(themeAfter(theme));
  const [isHelp, setHelp] = useState(false);
  const [isRail, setRail] = useState(false);
  const [Palette, setPalette] = useState<typeof palette | null>(null);
  const openPalette = () => setPalette(() => palette);
  usePaletteKey(openPalette);
  useCommands(() => [
    ...THEMES.filter((other) => other !== theme).map((other) => ({
      id: `theme ${other}`,
      group: 'Actions' as const,
      title: other === 'system' ? 'Use the theme of the system' : `Use the ${other} theme`,
      words: 'settings colours mode',
      icon: other,
      run: () => setTheme(other),
    })),
    {
      id: 'keys',
      group: 'Actions',
      title: 'Keyboard shortcuts',
      hint: '?',
      words: 'settings keys help',
      icon: 'help',
      run: () => setHelp(true),
    },
    ...features.flatMap(({ railLink }) =>
      railLink
        ? [
            {
              id: railLink.title,
              group: 'Actions' as const,
              title: railLink.title,
              icon: railLink.icon,
              run: () => go({ ...HOME, place: railLink.place }),
            },
          ]
        : [],
    ),
    ...(catalogue.apps ?? []).filter(isUsable).flatMap((app) =>
      features.flatMap(({ appLink }) =>
        appLink
          ? [
              {
                id: `${appLink.title} ${app.name}`,
                group: 'Apps' as const,
                title: `${appLink.title} of ${app.name}`,
                icon: 'check' as const,
                run: () => go({ ...HOME, place: appLink.place(app.name) }),
              },
            ]
          : [],
      ),
    ),
  ]);
  const [{ place }] = useRoute();
  const identity = useIdentity();
  const [header, setHeader] = useState<HTMLElement | null>(null);
  const more = <MoreButtons theme={theme} onTheme={nextTheme} onHelp={() => setHelp(true)} />;
  useEffect(() => void introduce(), []);
  // Whoever opens the palette types on at once: it is there before it is asked for.
  useEffect(() => {
    const timer = setTimeout(() => void loadPalette(), SOON_MS);
    return () => clearTimeout(timer);
  }, []);
  useKeys({ help: () => setHelp(true), home: () => go(HOME) });
  return (
    <CatalogueContext value={catalogue}>
      <div className="app" data-place={place.kind}>
        <a className="skip" href="#main" onClick={skip}>
          Skip to content
        </a>
        <TopBar setPlace={setHeader} onRail={() => setRail(!isRail)} onPalette={openPalette} more={more}>
          <Suspense>{needsAccount(identity) && <Account identity={identity} />}</Suspense>
        </TopBar>
        {isRail && <div className="scrim" aria-hidden="true" onClick={() => setRail(false)} />}
        <Rail isOpen={isRail} onClose={() => setRail(false)} foot={more} />
        <main id="main" tabIndex={-1}>
          <Failure what="This page" key={keyOf(place)}>
            <HeaderPlace value={header}>
              <Suspense fallback={<div className="skeleton page-skeleton" />}>
                <Content />
              </Suspense>
            </HeaderPlace>
          </Failure>
        </main>
        <Suspense>{isHelp && <KeysDialog onClose={() => setHelp(false)} />}</Suspense>
        <Suspense>{Palette && <Palette onClose={() => setPalette(null)} />}</Suspense>
        <Suspense>{identity.kind === 'asking' && <SignIn before={identity.before} />}</Suspense>
      </div>
    </CatalogueContext>
  );
}

/** Ctrl K, or ⌘K, opens the palette, also while something is typed. */
function usePaletteKey(open: () => void): void {
  const latest = useRef(open);
  useEffect(() => {
    latest.current = open;
  });
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey)
        return;
      if (document.querySelector('dialog[open]')) return;
      event.preventDefault();
      latest.current();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
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
  const [theme, setTheme] = useTheme();
  const nextTheme = () => setTheme(themeAfter(theme));
  const [isHelp, setHelp] = useState(false);
  useKeys({ help: () => setHelp(true) });
  const [place, setPlace] = useState<HTMLElement | null>(null);
  const run = shared()?.film.run ?? '';
  const more = <MoreButtons theme={theme} onTheme={nextTheme} onHelp={() => setHelp(true)} />;
  return (
    <div className="app" data-place="run" data-shared="">
      <TopBar setPlace={setPlace} onRail={null} onPalette={null} more={more} />
      <main id="main">
        <HeaderPlace value={place}>
          <Suspense fallback={null}>
            <RunPage run={run} />
          </Suspense>
        </HeaderPlace>
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
    case 'chat': {
      // A link without a user is to a chat of whoever follows it.
      const user = options.user ?? ownName(identity);
      if (user === null) return <div className="skeleton page-skeleton" />;
      return (
        <ChatPage
          key={`${place.app}/${user}/${place.session}`}
          where={{ app: place.app, session: place.session, user }}
        />
      );
    }
    case 'run':
      return <RunPage key={place.run} run={place.run} />;
    case 'search':
    case 'evals':
    case 'compare':
      return <FeaturePage place={place} />;
  }
}

/** The page that a feature has at an address; home where the server runs without the feature. */
function FeaturePage({ place: { kind, ...rest } }: { place: Place }) {
  const found = useFeatures().find(({ page }) => page?.kind === kind)?.page;
  const Page = found?.Page as ComponentType<typeof rest> | undefined;
  return Page ? <Page key={Object.values(rest).join('/')} {...rest} /> : <Home />;
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

function keyOf(place: {
  kind: string;
  run?: string;
  app?: string;
  session?: string;
  a?: string;
  b?: string | null;
}): string {
  return [place.kind, place.run, place.app, place.session, place.a, place.b].join('/');
}

// The address bar is the page's state: a link to a fragment would lose it.
function skip(event: { preventDefault(): void }): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

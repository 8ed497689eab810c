/**
 * Everything that features add to the page. A feature is a folder beside this file, with the name that the server has
 * for it, and one entry here; the shell shows what it finds here and knows no feature by itself. Where the server runs
 * `--without` a feature, nothing of it is shown.
 */
import { lazy, useMemo, type ComponentType } from 'react';
import { lazyWithRetry } from '../app/Failure';
import { useServerData } from '../app/query';
import { currentRoute, formatRoute, HOME, linkTo, type Place } from '../app/route';
import { address, getJson, path, useIdentity } from '../app/server';
import type { Message } from '../chat/message';
import type { Where } from '../chat/transport';
import type { Film } from '../film/film';
import { shared } from '../film/sharedFile';
import type { IconName } from '../ui/Icon';
import type { ShareItem } from '../workspace/ShareMenu';
import type { PanelSpec } from './feature';

/** A page at an address of its own, which gets the parts of the place as its props. */
type FeaturePage = {
  [Kind in Place['kind']]: { kind: Kind; Page: ComponentType<Omit<Extract<Place, { kind: Kind }>, 'kind'>> };
}[Place['kind']];

export type Feature = {
  /** As the server calls it. */
  name: string;
  panel?: PanelSpec;
  page?: FeaturePage;
  /** A link at the top of the rail. */
  railLink?: { icon: IconName; title: string; place: Place };
  /** At the end of the rail. */
  InRail?: ComponentType;
  /** On the home page of somebody who has no conversations yet. */
  FirstVisit?: ComponentType;
  /** A section of the home page. */
  homeSection?: { id: string; title: string; Section: ComponentType };
  /** A link on the card of an app. */
  appLink?: { title: string; place: (app: string) => Place };
  /** What can be done with a run, in its menu. */
  runActions?: (run: string, app: string) => ShareItem[];
  /** Above the messages of a conversation. */
  AboveChat?: ComponentType<{ where: Where; isBusy: boolean }>;
  /** Below the last answer, while nobody speaks; `onSay` says something in the chat. */
  BelowChat?: ComponentType<{ where: Where; message: Message; onSay: (text: string) => void }>;
  /** Among the actions below an answer. */
  UnderAnswer?: ComponentType<{ message: Message }>;
  /** Among the facts below an answer; `last` tells whether it is the last of the conversation. */
  AnswerFacts?: ComponentType<{ message: Message; last: boolean }>;
};

/** State keys of a research plan begin so (`grounding/grounding.ts`, which is loaded when it is shown). */
const GROUNDING = 'grounding:';

/** How many sources stand behind an answer; null where it only says how sure it is. */
function proofCount({ items }: Film): number | null {
  const cited = items.proofs.find(({ is }) => is.id === 'proof')?.marks.at(-1)?.[1].citations.length ?? 0;
  return cited || items.sources.length || (items.proofs.length > 0 ? null : 0);
}

const compareWith = (run: string): string => linkTo({ kind: 'compare', a: run, b: null });

// Where one goes to has nothing to stand in its place: a page that cannot be loaded says so at once (`lazy`). A panel
// is tried again (`lazyWithRetry`).
const FEATURES: readonly Feature[] = [
  {
    name: 'page',
    panel: {
      name: 'timeline',
      title: 'Trace',
      key: 't',
      place: 'centre',
      Panel: lazyWithRetry(() => import('./tree/TreePanel')),
    },
  },
  {
    name: 'page',
    panel: {
      name: 'step',
      title: 'Step',
      key: 'i',
      place: 'inspector',
      count: () => 0,
      Panel: lazyWithRetry(() => import('./inspector/StepPanel')),
    },
  },
  {
    name: 'page',
    panel: {
      name: 'graph',
      title: 'Graph',
      key: '1',
      place: 'inspector',
      count: (film) => (film.items.nodes.length > 0 ? null : 0),
      Panel: lazyWithRetry(() => import('./graph/GraphPanel')),
    },
  },
  {
    name: 'page',
    panel: {
      name: 'state',
      title: 'State',
      key: '2',
      place: 'inspector',
      count: (film) => film.items.keys.length,
      Panel: lazyWithRetry(() => import('./state/StatePanel')),
    },
  },
  {
    name: 'proof',
    panel: {
      name: 'proof',
      title: 'Proof',
      key: '3',
      place: 'inspector',
      count: proofCount,
      Panel: lazyWithRetry(() => import('./proof/ProofPanel')),
    },
  },
  {
    name: 'grounding',
    panel: {
      name: 'grounding',
      title: 'Grounding',
      key: '4',
      place: 'inspector',
      count: (film) => (film.items.keys.some(({ is }) => is.key.startsWith(GROUNDING)) ? null : 0),
      Panel: lazyWithRetry(() => import('./grounding/GroundingPanel')),
    },
  },
  {
    name: 'page',
    panel: {
      name: 'event',
      title: 'Event',
      key: '5',
      place: 'inspector',
      count: () => 0,
      Panel: lazyWithRetry(() => import('./event/EventPanel')),
    },
  },
  {
    name: 'model_calls',
    panel: {
      name: 'model',
      title: 'Model',
      key: '6',
      place: 'inspector',
      count: (film) => film.items.calls?.length ?? 0,
      Panel: lazyWithRetry(() => import('./model_calls/ModelPanel')),
    },
    AnswerFacts: lazyWithRetry(async () => ({ default: (await import('./model_calls/AnswerFacts')).AnswerFacts })),
  },
  {
    name: 'page',
    panel: {
      name: 'artifacts',
      title: 'Artifacts',
      key: '7',
      place: 'inspector',
      count: (film) => film.items.artifacts?.length ?? 0,
      Panel: lazyWithRetry(() => import('./artifacts/ArtifactsPanel')),
    },
  },
  {
    name: 'search',
    page: { kind: 'search', Page: lazy(() => import('./search/SearchPage')) },
    railLink: { icon: 'search', title: 'Runs', place: { kind: 'search' } },
  },
  {
    name: 'conversations',
    InRail: lazyWithRetry(async () => ({
      default: (await import('./conversations/RailConversations')).RailConversations,
    })),
  },
  {
    name: 'feedback',
    UnderAnswer: lazyWithRetry(async () => ({ default: (await import('./feedback/FeedbackButtons')).Feedback })),
  },
  { name: 'follow_ups', BelowChat: lazyWithRetry(() => import('./follow_ups/FollowUps')) },
  {
    name: 'rerun',
    panel: {
      name: 'rerun',
      title: 'Edit and run again',
      key: '8',
      place: 'inspector',
      count: () => 0,
      Panel: lazyWithRetry(() => import('./rerun/RerunPanel')),
    },
    UnderAnswer: lazyWithRetry(() => import('./rerun/EditAnswer')),
    // Beside the run that is looked at; the address says which one that is.
    runActions: () => [
      {
        icon: 'play',
        word: 'Edit and run again…',
        link: formatRoute({ ...currentRoute(), panel: 'rerun' }),
      },
    ],
  },
  {
    name: 'compare',
    page: { kind: 'compare', Page: lazy(() => import('./compare/ComparePage')) },
    runActions: (run) => [{ icon: 'branch', word: 'Compare…', link: compareWith(run) }],
  },
  {
    name: 'evaluation',
    page: { kind: 'evals', Page: lazy(() => import('./evaluation/EvalsPage')) },
    appLink: { title: 'Evaluation', place: (app) => ({ kind: 'evals', app }) },
    runActions: (run, app) =>
      app
        ? [
            {
              icon: 'check',
              word: 'Add to evaluation…',
              link: formatRoute({ ...HOME, place: { kind: 'evals', app }, options: { run } }),
            },
          ]
        : [],
  },
  {
    name: 'captures',
    homeSection: {
      id: 'recordings',
      title: 'Open a recording',
      Section: lazyWithRetry(async () => ({ default: (await import('./captures/DropZone')).DropZone })),
    },
    FirstVisit: lazyWithRetry(async () => ({ default: (await import('./captures/DropZone')).ExampleRun })),
    runActions: (run) => [
      {
        icon: 'download',
        word: 'Recording (JSON lines)',
        href: address(path('api', 'runs', run, 'recording')),
        download: `${run}.jsonl`,
      },
    ],
  },
  {
    name: 'share',
    runActions: (run) => [
      {
        icon: 'upload',
        word: 'Share as one HTML file',
        href: address(path('api', 'runs', run, 'share')),
        download: `${run}.html`,
        edit: async (file) => (await import('./share/shareDiagrams')).withDiagrams(file),
      },
    ],
  },
  { name: 'watch', AboveChat: lazyWithRetry(() => import('./watch/SavedStrip')) },
];

/** The panels of all features, in the order of their tabs. */
export const PANELS: readonly PanelSpec[] = FEATURES.flatMap(({ panel }) => panel ?? []);

type Setup = { features?: string[] };

/**
 * Return the names of the features that the server runs; null where it does not tell, and has all. `GET /api/me` may
 * tell;
 * a server that asks nobody who it is tells in `GET /api/setup`, which elsewhere is for administrators.
 */
function useEnabledNames(): readonly string[] | null {
  const identity = useIdentity();
  const names = identity.kind === 'known' ? identity.features : null;
  const isOpen = identity.kind === 'known' && identity.user === null && names === null && !shared();
  const load = (signal: AbortSignal) => getJson<Setup>('api/setup', signal).catch((): Setup => ({}));
  const { data } = useServerData(['features'], load, { enabled: isOpen, staleTime: Infinity });
  return names ?? data?.features ?? null;
}

/** Return the features that the server runs. */
export function useFeatures(): readonly Feature[] {
  const names = useEnabledNames();
  return useMemo(() => {
    // A run in a file has its panels; all else needs a server (`vite.share.config.ts`).
    if (shared()) return FEATURES.filter(({ panel }) => panel);
    return FEATURES.filter(({ name }) => name === 'page' || (names?.includes(name) ?? true));
  }, [names]);
}

export function useFeature(name: string): boolean {
  return useEnabledNames()?.includes(name) ?? true;
}

/** Return the panels of the features that the server runs. */
export function usePanels(): readonly PanelSpec[] {
  const features = useFeatures();
  return useMemo(() => features.flatMap(({ panel }) => panel ?? []), [features]);
}

/**
 * After a save: whether the conversation would be the same with the code as it is now. The server has run it again from
 * its recording, with no live model or tool; whoever reads the difference decides whether one is asked.
 */
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { TYPING } from '../../app/keys';
import { go, HOME } from '../../app/route';
import { explain, path, postJson } from '../../app/server';
import type { Where } from '../../chat/transport';
import { plural, duration } from '../../ui/format';
import { Icon, type IconName } from '../../ui/Icon';
import { middle } from '../../ui/wordDiff';
import { useWatched, type ChangedPart, type Checked, type CheckedMessage } from './watched';
import './watch.css';

type Action = { key: string; word: string; title: string; run: (() => void) | null };

export default function SavedStrip({ where, isBusy }: { where: Where; isBusy: boolean }) {
  const [ignored, setIgnored] = useState<readonly string[]>([]);
  const checked = useWatched(where, ignored);
  const [dismissed, setDismissed] = useState(-1);
  const number = checked?.number ?? -1;
  // A new message is answered by the current code: what was found out before it is no longer news.
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is found out meanwhile is shown
  useEffect(() => {
    if (isBusy) setDismissed(number);
  }, [isBusy]);
  if (!checked || checked.number === dismissed || checked.state === 'off' || checked.state === 'unchanged') return null;
  const ignore = (rules: readonly string[]) => setIgnored([...new Set([...ignored, ...rules])]);
  const dismiss = () => setDismissed(number);
  return <Strip key={number} {...{ checked, ignored }} app={where.app} onIgnore={ignore} onDismiss={dismiss} />;
}

type Rerun = { runs: string[]; recorded: string[]; user: string; session: string };

/** Run a message again: from its recording, and where that ends, live if it is allowed. */
function runAgain(run: string, isLive: boolean, ignore: readonly string[]): Promise<Rerun> {
  const how = isLive ? { models: 'auto', tools: 'auto', wait: false } : { models: 'recorded', tools: 'recorded' };
  return postJson<Rerun>(`${path('api', 'runs', run)}/rerun`, { ...how, ignore });
}

function openChat(app: string, { user, session }: Rerun): void {
  go({ ...HOME, place: { kind: 'chat', app, session }, options: user === 'user' ? {} : { user } });
}

function openComparison({ recorded, runs }: Rerun, run: string): void {
  const [a, b] = [recorded.at(-1) ?? run, runs.at(-1) ?? run];
  go({ ...HOME, place: { kind: 'compare', a, b } });
}

type StripProps = {
  checked: Checked;
  app: string;
  ignored: readonly string[];
  onIgnore: (rules: readonly string[]) => void;
  onDismiss: () => void;
};

function Strip({ checked, app, ignored, onIgnore, onDismiss }: StripProps) {
  const [isStarting, setStarting] = useState(false);
  const [problem, setProblem] = useState('');
  const message = checked.conversation?.messages.find(({ status }) => status === 'differs');
  const start = (run: string, isLive: boolean, open: (done: Rerun) => void) => async () => {
    setStarting(true);
    try {
      open(await runAgain(run, isLive, ignored));
    } catch (error) {
      setProblem(explain(error));
      setStarting(false);
    }
  };
  const rules = message?.difference?.rules ?? [];
  const actions: Action[] = [
    ...(rules.length > 0 ? [ignoring(rules, onIgnore)] : []),
    ...(message ? waysOn(message, start, (done) => openChat(app, done)) : []),
    { key: 'x', word: 'Dismiss', title: 'Hide this until the next save', run: onDismiss },
  ];
  useStripKeys(isStarting ? [] : actions);
  const { icon, kind, words } = LOOKS[checked.state] ?? LOOKS.checking;
  return (
    <section className="notice saved" data-kind={kind} aria-label="Saved code">
      <Icon name={icon} />
      <span role="status">{problem || words(checked, message)}</span>
      <span className="actions">
        {actions.map(({ key, word, title, run }) => (
          <button
            key={key}
            type="button"
            className="button"
            title={title}
            disabled={run === null || isStarting}
            onClick={run ?? undefined}
          >
            {word} <kbd>{key}</kbd>
          </button>
        ))}
      </span>
      {message && <Changes message={message} skipped={checked.conversation?.skipped ?? 0} />}
    </section>
  );
}

function ignoring(rules: readonly string[], onIgnore: (rules: readonly string[]) => void): Action {
  const words = rules.map((rule) => IGNORED[rule] ?? rule).join(' and ');
  return { key: 'u', word: `Ignore ${words}`, title: `Compare without ${words}`, run: () => onIgnore(rules) };
}

const IGNORED: Record<string, string> = { clock: 'times', uuid: 'UUIDs', hex: 'random ids', number: 'numbers' };

type Start = (run: string, isLive: boolean, open: (done: Rerun) => void) => () => void;

/** What can be done about a message that differs. */
function waysOn({ run, difference }: CheckedMessage, start: Start, open: (done: Rerun) => void): Action[] {
  return [
    {
      key: 'w',
      word: 'Compare',
      title: 'Compare the recorded run with one of the saved code, without a model',
      run: start(run, false, (done) => openComparison(done, run)),
    },
    {
      key: 'g',
      word: 'Go on live',
      title: difference
        ? 'Ask the live model from this call on, in a new conversation'
        : 'Every model call is as recorded: there is nothing to ask a live model',
      run: difference ? start(run, true, open) : null,
    },
    {
      key: 'k',
      word: 'Keep',
      title: difference
        ? 'There is no answer to keep yet: go on live first'
        : 'Keep what the saved code answers as a conversation, and continue there',
      run: difference ? null : start(run, false, open),
    },
  ];
}

type Look = { icon: IconName; kind: string; words: (checked: Checked, message?: CheckedMessage) => ReactNode };

const LOOKS: Partial<Record<Checked['state'], Look>> & { checking: Look } = {
  checking: { icon: 'clock', kind: 'neutral', words: () => 'Running this conversation again with the saved code…' },
  same: { icon: 'check', kind: 'state', words: (checked) => `Same as before (${callWords(checked)})` },
  differs: { icon: 'branch', kind: 'approval', words: (_, message) => message && <Differs message={message} /> },
  failed: {
    icon: 'neutral',
    kind: 'neutral',
    words: ({ detail }) => `The saved code was not tried on this conversation: ${detail}`,
  },
  broken: {
    icon: 'error',
    kind: 'error',
    words: ({ detail }) => `The saved code cannot be loaded, so the code from before is used. ${detail}`,
  },
};

function callWords({ conversation }: Checked): string {
  const calls = (conversation?.messages ?? []).reduce((sum, each) => sum + (each.calls ?? 0), 0);
  return `${plural(calls, 'model call')} in ${duration(conversation?.seconds ?? 0)}`;
}

function Differs({ message: { difference, differs } }: { message: CheckedMessage }) {
  if (!difference) return <>Every model call is the same; what follows differs: {differs?.join(', ')}</>;
  if (difference.status !== 'changed') return <>{difference.detail}</>;
  return (
    <>
      Differs from call {difference.call} of <code>{difference.agent}</code>
    </>
  );
}

/** The parts that are otherwise now, word by word; what comes after a changed call is not known. */
function Changes({ message, skipped }: { message: CheckedMessage; skipped: number }) {
  const { difference, follows = [] } = message;
  const parts = difference?.parts ?? follows;
  return (
    <div className="saved-parts">
      {parts.map((part) => (
        <PartDiff key={part.part} {...part} />
      ))}
      <p className="quiet">
        {difference?.more ? `${plural(difference.more, 'further part')} of the request differ too. ` : ''}
        {difference?.status === 'changed'
          ? `${causeOf(difference.detail)}What follows is open until the live model answers. `
          : ''}
        {skipped > 0 && `${plural(skipped, 'later message')} not tried.`}
      </p>
    </div>
  );
}

/** Return the hint at a clock or an id that a difference ends with; empty if there is none. */
function causeOf(detail: string): string {
  const hint = detail.indexOf('. Only ');
  const [cause = ''] = hint < 0 ? [] : detail.slice(hint + 2).split(' To leave ');
  return cause && `${cause.replaceAll('`', '')} `;
}

const AROUND = 160; // Characters of what is the same, before and after a change: enough to find the place.

function PartDiff({ part, before, after }: ChangedPart) {
  const pieces = middle(before, after);
  return (
    <div className="saved-part">
      <h3>{partWords(part)}</h3>
      <div className="saved-text">
        {pieces.before.length > AROUND ? `…${pieces.before.slice(-AROUND)}` : pieces.before}
        {pieces.a && <del>{pieces.a}</del>}
        {pieces.b && <ins>{pieces.b}</ins>}
        {pieces.after.length > AROUND ? `${pieces.after.slice(0, AROUND)}…` : pieces.after}
      </div>
    </div>
  );
}

/** Return the name of a part as a person says it: `contents/3` is message 4. */
function partWords(part: string): string {
  const [kind = '', ...rest] = part.split('/');
  const name = rest.join('/');
  if (kind === 'contents') return `message ${Number(name) + 1}`;
  if (kind === 'tools') return `tool ${name}`;
  return name ? `${kind} ${name}` : kind;
}

/** Keys of the strip, wherever nothing is being typed. */
function useStripKeys(actions: readonly Action[]): void {
  const latest = useRef(actions);
  useEffect(() => {
    latest.current = actions;
  });
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target instanceof Element && event.target.closest(TYPING)) return;
      if (document.querySelector('dialog[open]')) return;
      const action = latest.current.find(({ key }) => key === event.key);
      if (!action?.run) return;
      event.preventDefault();
      action.run();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
}

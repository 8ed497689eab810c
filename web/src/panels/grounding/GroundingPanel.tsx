/** The grounding box: where the research stands, what waits for the researcher, and what was done. */
import { useState, type ReactNode } from 'react';
import { explain } from '../../app/problem';
import { groundingAt, PREFIX, type GroundingView, type Remedy } from '../../film/grounding';
import { Copy } from '../../ui/Copy';
import { Empty } from '../../ui/Empty';
import { Icon } from '../../ui/Icon';
import { Json } from '../../ui/Json';
import { KindChip } from '../../ui/Kind';
import { PanelHeader } from '../../ui/PanelHeader';
import { number, plural } from '../../ui/format';
import type { PanelProps } from '../panel';
import '../panels.css';
import { boxOf, filterWords, text, words, type Box } from './box';
import { EditableList, EditableText } from './Editable';
import './grounding.css';
import { answerOf, type Decision } from './PlanAnswers';
import { PlanCard } from './PlanCard';
import { Delta, Receipts } from './Receipts';
import { strategyMarkdown } from './searchStrategy';
import { boxDelta, updateBox, whyReadOnly } from './updateState';
import * as wording from '../../words/grounding';

const STAGES = ['scoping', 'retrieval', 'synthesis', 'validation'];

export default function GroundingPanel({ film, at, seek, live, say, follow }: PanelProps) {
  const view = groundingAt(film, at);
  const box = boxOf(view);
  const [error, setError] = useState('');
  const [sending, setSending] = useState(false);
  const off = sending ? wording.saving : whyReadOnly(film, at, live);
  const changed = new Set(view.changed.map((change) => change.key.slice(PREFIX.length)));

  const attempt = async (work: () => Promise<void>) => {
    setSending(true);
    setError('');
    try {
      await work();
    } catch (problem) {
      setError(explain(problem));
    } finally {
      setSending(false);
    }
  };
  const write = (values: Record<string, unknown>) =>
    attempt(async () => {
      const run = await updateBox(film, values);
      if (run) follow?.(run);
    });
  /** Answer: as a message where there is a chat, so that the agent acts at once; else in the state. */
  const answer = (values: Record<string, unknown>, said: string) =>
    say ? attempt(async () => void (await say(said, boxDelta(values)))) : write(values);
  const decide = (decision: Decision, more: string) => {
    const { values, said } = answerOf(decision, more);
    return answer(values, said);
  };

  if (!view.present) {
    return (
      <section className="panel grounding-panel" aria-label={wording.grounding}>
        <PanelHeader title={wording.grounding} />
        <Empty title={wording.appHasNoResearchPlan}>
          {wording.questionASearchPlan} <code>{PREFIX}</code>{wording.researchAppDoes}
        </Empty>
      </section>
    );
  }
  const part = (name: string, title: string, children: ReactNode) => (
    <Part title={title} changed={changed.has(name)}>
      {children}
    </Part>
  );
  return (
    <section className="panel grounding-panel" aria-label={wording.grounding}>
      <PanelHeader title={wording.grounding} count={changed.size ? wording.changedThisTurn(changed.size) : undefined}>
        <Copy label={wording.copyTheSearchStrategy} text={() => strategyMarkdown(view)}>
          {wording.strategy}
        </Copy>
      </PanelHeader>
      <div className="body" tabIndex={0} role="region" aria-label={wording.researchPlan}>
        {error && (
          <p className="notice" data-kind="error" role="alert">
            <Icon name="error" /> {error}
          </p>
        )}
        <Standing view={view} box={box} changed={changed} />
        {box.plan && <PlanCard plan={box.plan} off={off} given={box.approval} decide={decide} />}
        {box.failure && (
          <Help box={box} remedies={view.remedies} off={off} choose={(remedy) => answer({ selected_remedy: remedy.name }, remedy.label || remedy.name)} />
        )}
        {part('research_question', wording.question, <EditableText value={box.question} label={wording.researchQuestion} off={off} save={(value) => write({ research_question: value })} />)}
        {part('search_assumptions', wording.assumptions, <EditableList items={box.assumptions} label={wording.assumptions} add={wording.anotherAssumption} off={off} save={(items) => write({ search_assumptions: items })} />)}
        {part('open_questions', wording.openQuestions, <EditableList items={box.questions} label={wording.openQuestions} add={wording.anotherQuestion} off={off} save={(items) => write({ open_questions: items })} />)}
        {part('current_filters', wording.filters, <p>{filterWords(box.filters) || <span className="muted">{wording.none}</span>}</p>)}
        <Receipts receipts={view.receipts} seek={seek} />
        <Unreadables view={view} />
      </div>
    </section>
  );
}

function Part({ title, changed, children }: { title: string; changed: boolean; children: ReactNode }) {
  return (
    <section className="section" aria-label={title}>
      <h3>
        {title} {changed && <Delta />}
      </h3>
      {children}
    </section>
  );
}

function Standing({ view, box, changed }: { view: GroundingView; box: Box; changed: Set<string> }) {
  return (
    <section className="section standing" aria-label={wording.progress}>
      <ol className="stages" aria-label={wording.stages}>
        {STAGES.map((stage, index) => (
          <li key={stage} aria-current={stage === box.stage ? 'step' : undefined} data-past={view.step && index + 1 < view.step.number ? '' : undefined}>
            {stage}
          </li>
        ))}
      </ol>
      {box.next && (
        <p>
          <KindChip kind={box.next.owner === 'agent' ? 'text' : 'approval'} icon={box.next.owner === 'agent' ? 'agent' : 'user'}>
            {box.next.owner}
          </KindChip>{' '}
          {box.next.action} {box.next.target} {box.next.due && <span className="muted">{box.next.due}</span>} {changed.has('next_action') && <Delta />}
        </p>
      )}
      <p className="muted">
        {box.papers !== null && <>{plural(box.papers, wording.distinctPaper)} {changed.has('papers_found') && <Delta />} </>}
        {box.databases.length > 0 && <>{wording.inDatabases(box.databases.join(', '))}</>}
      </p>
    </section>
  );
}

type HelpProps = { box: Box; remedies: Remedy[]; off: string | null; choose(remedy: Remedy): void };

function Help({ box, remedies, off, choose }: HelpProps) {
  const failure = box.failure!;
  return (
    <section className="section help" data-kind="error" aria-label={wording.help}>
      <h3>
        <KindChip kind="error">{failure.type.replaceAll('_', ' ')}</KindChip>
      </h3>
      <p>
        {Object.entries(failure.context).map(([name, value]) => (
          <span key={name} className="figure">
            {name.replaceAll('_', ' ')} <b>{typeof value === 'number' ? number(value) : words(value)}</b>
          </span>
        ))}
      </p>
      <div className="answers" role="group" aria-label={wording.remedies}>
        {remedies.map((remedy) => (
          <button key={remedy.number} type="button" className="button" disabled={off !== null} title={off ?? (text(remedy.query) || undefined)} onClick={() => choose(remedy)}>
            {remedy.number}. {remedy.label || remedy.name}
          </button>
        ))}
      </div>
      {failure.ask && <p className="muted">{failure.ask}</p>}
    </section>
  );
}

function Unreadables({ view }: { view: GroundingView }) {
  if (!view.unreadable.length) return null;
  return (
    <section className="section" aria-label={wording.couldNotBeRead}>
      <h3>
        {wording.couldNotBeRead} <span className="count">{view.unreadable.length}</span>
      </h3>
      <ul className="unreadable">
        {view.unreadable.map(({ key, value, why }) => (
          <li key={key}>
            <code>{key}</code> <span className="muted">{why}</span>
            <Json value={value} open={0} />
          </li>
        ))}
      </ul>
    </section>
  );
}

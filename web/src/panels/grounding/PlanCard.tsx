/** A search that waits for the researcher: what it would do, and the four answers. */
import type { ReactNode } from 'react';
import { KindChip } from '../../ui/Kind';
import { filterWords, type Plan } from './box';
import { PlanAnswers, type Decision } from './PlanAnswers';

type Props = { plan: Plan; off: string | null; given: string; decide(decision: Decision, words: string): void };

export function PlanCard({ plan, off, given, decide }: Props) {
  return (
    <section className="section plan" data-kind="approval" aria-label="Pending plan">
      <h3>
        <KindChip kind="approval">pending plan</KindChip>
        {plan.mode && <KindChip kind="neutral">{plan.mode}</KindChip>}
      </h3>
      <dl>
        <Row term="Database">{plan.database}</Row>
        <Row term="Query">
          <code>{plan.query}</code>
        </Row>
        <Row term="Filters">{filterWords(plan.filters)}</Row>
        <Row term="Why">{plan.rationale}</Row>
        <Row term="Expected">{plan.expected_results}</Row>
        <Row term="Cost and time">{plan.cost_time}</Row>
        <Row term="Fetches">{plan.limit ? `at most ${plan.limit}` : ''}</Row>
        <Row term="Alternative">{plan.alternative}</Row>
      </dl>
      {given && <p className="muted">Answered: {given.replaceAll('_', ' ')}. The agent continues with the next message.</p>}
      <PlanAnswers off={off} decide={decide} />
      {off !== null && <p className="muted">{off}</p>}
    </section>
  );
}

function Row({ term, children }: { term: string; children: ReactNode }) {
  if (!children) return null;
  return (
    <>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </>
  );
}

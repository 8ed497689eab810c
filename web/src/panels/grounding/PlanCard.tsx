/** A search that waits for the researcher: what it would do, and the four answers. */
import type { ReactNode } from 'react';
import { KindChip } from '../../ui/Kind';
import { filterWords, type Plan } from './box';
import { PlanAnswers, type Decision } from './PlanAnswers';
import * as wording from '../../words/grounding';

type Props = { plan: Plan; off: string | null; given: string; decide(decision: Decision, words: string): void };

export function PlanCard({ plan, off, given, decide }: Props) {
  return (
    <section className="section plan" data-kind="approval" aria-label={wording.pendingPlan}>
      <h3>
        <KindChip kind="approval">{wording.pendingPlanTag}</KindChip>
        {plan.mode && <KindChip kind="neutral">{plan.mode}</KindChip>}
      </h3>
      <dl>
        <Row term={wording.database}>{plan.database}</Row>
        <Row term={wording.query}>
          <code>{plan.query}</code>
        </Row>
        <Row term={wording.filters}>{filterWords(plan.filters)}</Row>
        <Row term={wording.why}>{plan.rationale}</Row>
        <Row term={wording.expected}>{plan.expected_results}</Row>
        <Row term={wording.costAndTime}>{plan.cost_time}</Row>
        <Row term={wording.fetches}>{plan.limit ? wording.atMost(plan.limit) : ''}</Row>
        <Row term={wording.alternative}>{plan.alternative}</Row>
      </dl>
      {given && <p className="muted">{wording.answeredTheAgentContinues(given.replaceAll('_', ' '))}</p>}
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

/** The box's values as the panel reads them. The server has checked their shapes; a missing one is empty. */
import type { Json } from '@adk-prism/client/film';
import type { GroundingView } from './grounding';

export type Plan = {
  database: string;
  query: string;
  filters: Record<string, Json>;
  rationale: string;
  expected_results: string;
  cost_time: string;
  alternative: string;
  mode: string;
  limit: number;
};
export type Failure = { type: string; context: Record<string, Json>; ask: string };
export type NextAction = { owner: string; action: string; target: string; due: string };

export type Box = {
  question: string;
  stage: string;
  assumptions: string[];
  questions: string[];
  papers: number | null;
  databases: string[];
  filters: Record<string, Json>;
  next: NextAction | null;
  plan: Plan | null;
  failure: Failure | null;
  approval: string;
};

type Fields = { [key: string]: Json };

export function boxOf({ box }: GroundingView): Box {
  const plan = fields(box.pending_search_plan);
  const failure = fields(box.last_search_failure);
  const next = fields(box.next_action);
  return {
    question: text(box.research_question),
    stage: text(box.stage),
    assumptions: texts(box.search_assumptions),
    questions: texts(box.open_questions),
    papers: typeof box.papers_found === 'number' ? box.papers_found : null,
    databases: texts(box.databases_searched),
    filters: fields(box.current_filters) ?? {},
    next: next && {
      owner: text(next.owner),
      action: text(next.action),
      target: text(next.target),
      due: text(next.due),
    },
    plan: plan && {
      database: text(plan.database),
      query: text(plan.query),
      filters: fields(plan.filters) ?? {},
      rationale: text(plan.rationale),
      expected_results: text(plan.expected_results),
      cost_time: text(plan.cost_time),
      alternative: text(plan.alternative),
      mode: text(plan.mode),
      limit: typeof plan.limit === 'number' ? plan.limit : 0,
    },
    failure: failure && {
      type: text(failure.type),
      context: fields(failure.context) ?? {},
      ask: text(fields(failure.remedies)?.ask_researcher),
    },
    approval: text(box.user_approval),
  };
}

export function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : value === null || value === undefined ? '' : JSON.stringify(value);
}

/** Say a value in a line, without brackets: `transformers 0, protein 6`. */
export function words(value: Json | undefined): string {
  if (Array.isArray(value)) return value.map(words).join(', ') || 'none';
  const named = fields(value);
  return named
    ? Object.entries(named)
        .map(([name, each]) => `${name} ${words(each)}`)
        .join(', ') || 'none'
    : text(value);
}

function texts(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.map(text) : [];
}

export function fields(value: Json | undefined): Fields | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
}

/** Say filters in a line: `years: 2020 to 2024, kind: article`. */
export function filterWords(filters: Record<string, Json>): string {
  return Object.entries(filters)
    .map(
      ([name, value]) =>
        `${name.replaceAll('_', ' ')}: ${Array.isArray(value) ? value.map(text).join(' to ') : text(value)}`,
    )
    .join(', ');
}

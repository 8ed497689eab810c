/** What went into a step and came out of it, as the film has it. Pure. */
import type { Json } from '@adk-prism/client/film';
import { isText, saidAt, type SaidItem } from '../../film/conversation';
import { isReplaced, once, type Film } from '../../film/film';
import { allSteps, type Step } from '../tree/steps';

type Named = { name: string; value: Json };

const callsById = once(
  (film: Film) =>
    new Map(
      film.items.said.flatMap((item) => (item.is.kind === 'call' ? [[String(item.is.call), item] as const] : [])),
    ),
);

function callOf(film: Film, step: Step): SaidItem | undefined {
  return step.call ? callsById(film).get(step.call) : undefined;
}

/** Return what a step was given: the arguments of its call, or what the user said. */
export function inputOf(film: Film, step: Step): Named[] {
  const call = callOf(film, step);
  if (call?.is.input !== undefined) return named('Arguments', call.is.input);
  if (step.kind !== 'agent' && step.kind !== 'workflow') return [];
  return film.items.said.filter(({ is }) => is.kind === 'user').flatMap((item) => textIn(item, 'User message'));
}

/** Return what came of a step: the result of its call, what was said in it, or what it passed on. */
export function outputOf(film: Film, step: Step): Named[] {
  const call = callOf(film, step);
  const said = call && saidAt(call, Infinity);
  if (step.kind === 'approval') return said ? named('Decision', decision(said.status, step)) : [];
  if (said?.output !== undefined && step.kind !== 'model') return named('Result', said.output as Json);
  if (step.kind === 'text') return textsOf(film, step).slice(0, 1);
  const passed = nodeOutput(film, step);
  return passed.length ? passed : textsOf(film, step);
}

function decision(status: Json | undefined, step: Step): string {
  if (step.status === 'answered') return 'Answered with the next message';
  if (status === 'denied') return 'Denied';
  return status === 'awaiting approval' || status === 'requested' ? 'Not answered yet' : 'Approved';
}

function named(name: string, value: Json | undefined): Named[] {
  return value === undefined || value === null ? [] : [{ name, value }];
}

function textIn(item: SaidItem, name: string): Named[] {
  const text = saidAt(item, Infinity).text;
  return typeof text === 'string' && text ? [{ name, value: text }] : [];
}

/** What a workflow's node passed on. */
function nodeOutput(film: Film, step: Step): Named[] {
  const node = step.id.startsWith('n') ? film.items.nodes[Number(step.id.slice(1))] : undefined;
  return (node?.marks ?? []).flatMap(([, news]) => ('output' in news ? named('Output', news.output) : []));
}

/** What was said while a step ran, by whoever ran in it. */
function textsOf(film: Film, step: Step): Named[] {
  const until = step.until ?? film.last;
  const from = step.kind === 'model' ? modelStart(film, step) : step.since;
  const node = step.id.startsWith('n') ? film.items.nodes[Number(step.id.slice(1))]?.is.node : undefined;
  return film.items.said
    .filter((item) => isText(item) && !isReplaced(item.marks) && item.since >= from && item.since <= until)
    .filter((item) => node === undefined || item.is.node === node)
    .flatMap((item) => textIn(item, item.is.kind === 'reasoning' ? 'Thought' : 'Text'));
}

/** A model call is written when it is over: what it said came after the last entry before its start. */
function modelStart(film: Film, step: Step): number {
  const found = film.times.findIndex((time) => time >= step.start);
  return found < 0 ? step.since : found + 1;
}

/** Return the model calls of a step: itself, or those inside of it. */
export function callsIn(film: Film, step: Step): Step[] {
  if (step.kind === 'model') return [step];
  const inside: Step[] = [];
  const visit = (each: Step) => {
    if (each.kind === 'model') inside.push(each);
    each.children.forEach(visit);
  };
  visit(step);
  if (inside.length || !allSteps(film).includes(step)) return inside;
  return [];
}

export type StepSource = { title: string; uri: string; excerpt: string; cursor: number };

/** Return the sources that were named while a step ran. */
export function sourcesIn(film: Film, step: Step): StepSource[] {
  const until = step.until ?? film.last;
  const isIn = (cursor: number) => cursor >= step.since && cursor <= until;
  const found = film.items.sources
    .filter(({ since }) => isIn(since))
    .map(({ is, since }) => ({ title: is.title, uri: is.uri, excerpt: '', cursor: since }));
  const cited = film.items.proofs.flatMap(({ is, marks }) =>
    is.id === 'proof' ? (marks.at(-1)?.[1].citations ?? []).filter(({ cursor }) => isIn(cursor)) : [],
  );
  return [
    ...found,
    ...cited.map(({ source, uri = '', excerpt = '', cursor }) => ({ title: source, uri, excerpt, cursor })),
  ];
}

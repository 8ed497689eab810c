/** Where something failed: each failure once, where it was first seen.
 *
 * One failure is told several times: by the tool's node, by its answer, by the error event of its agent, by the
 * nodes around it, and by the end of the run. */
import { once, type Film } from './film';
import { endOf } from './timeline';

type Mark = {
  cursor: number;
  /** Failures from here on, by the same code, are this one. */
  since: number;
  code: string;
  call: string;
};

/** Return the entries at which something failed, in order. */
export const failuresOf = once((film: Film): readonly number[] => {
  const marks = [...answers(film), ...errors(film), ...nodes(film), ...end(film)];
  const told: Mark[] = [];
  for (const mark of marks.sort((a, b) => a.cursor - b.cursor)) {
    if (!told.some((known) => isSame(known, mark))) told.push(mark);
  }
  return told.map(({ cursor }) => cursor);
});

function isSame(known: Mark, mark: Mark): boolean {
  if (known.cursor === mark.cursor || (mark.call !== '' && known.call === mark.call)) return true;
  return known.cursor >= mark.since && (mark.code === '' || mark.code === known.code);
}

function answers(film: Film): Mark[] {
  return film.items.said.flatMap(({ is, marks }) =>
    marks.flatMap(([cursor, news]) =>
      typeof news === 'object' && news?.status === 'failed' ? [{ cursor, since: cursor, code: '', call: String(is.call) }] : [],
    ),
  );
}

/** An error is told after the failure of what ran last: a tool, or a node inside. */
function errors(film: Film): Mark[] {
  return film.items.said
    .filter(({ is }) => is.kind === 'error')
    .map(({ is, since }) => ({ cursor: since, since: lastStart(film, since), code: String(is.code), call: '' }));
}

function lastStart(film: Film, cursor: number): number {
  return Math.max(1, ...film.items.nodes.filter(({ since }) => since < cursor).map(({ since }) => since));
}

function nodes(film: Film): Mark[] {
  return film.items.nodes.flatMap((node) => {
    const end = endOf(node);
    if (end?.status !== 'failed') return [];
    const call = node.is.kind === 'tool' ? node.is.call : '';
    return [{ cursor: end.cursor, since: node.since, code: end.error ?? '', call }];
  });
}

function end({ ended }: Film): Mark[] {
  return ended?.outcome === 'failed' ? [{ cursor: ended.cursor, since: 1, code: ended.code, call: '' }] : [];
}

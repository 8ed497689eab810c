/** Golden films for the tests of the panels. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readFilm, type Film } from './film';

export function golden(name: string): Film {
  const path = join(import.meta.dirname, '../../../tests/features/page/films', `${name}.json`);
  return readFilm(JSON.parse(readFileSync(path, 'utf8')).document);
}

/** A long run: one node after the other, each with a tool and a word. */
export function longFilm(nodes: number): Film {
  const base = golden('state');
  const times: number[] = [0];
  const items: Film['items']['nodes'][number][] = [];
  const said: Film['items']['said'][number][] = [];
  for (let number = 0; number < nodes; number++) {
    const since = times.length + 1;
    const start = times.length * 1000;
    times.push(start, start + 500, start + 900);
    items.push({
      index: number,
      since,
      is: {
        node: `n${number}`,
        name: number % 7 ? 'step' : 'check',
        kind: 'agent',
        path: '',
        lane: '',
        call: '',
        parent: '',
        depth: 0,
        step: number,
        iteration: 1,
        derived: false,
        start,
      },
      marks: [[since + 2, { status: number % 100 === 99 ? 'failed' : 'finished', end: start + 900, derived: false }]],
    });
    said.push({
      index: number,
      since: since + 1,
      is: { kind: 'text', speaker: 'step' },
      marks: [
        [since + 1, `word ${number} `],
        [since + 2, null],
      ],
    });
  }
  return { ...base, last: times.length, times, ended: null, items: { ...base.items, nodes: items, said } };
}

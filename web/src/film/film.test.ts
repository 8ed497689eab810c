/** The selector shows what Python's film shows, at every cursor of the golden films. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { nodeRunAt } from '../features/graph/RunOfNode';
import { nodesAt } from './timeline';
import { viewAt } from './viewAt';
import { grow, readFilm, UnreadableFilm } from './film';

// The whole library of recordings is tried by tests/web, which makes the films and names their folder here.
const FOLDER = process.env.PRISM_FILMS ?? join(import.meta.dirname, '../../../tests/features/page/films');
const FILMS = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));

function golden(name: string) {
  return JSON.parse(readFileSync(join(FOLDER, name), 'utf8'));
}

test('there are golden films', () => expect(FILMS.length).toBeGreaterThan(5));

describe.each(FILMS)('%s', (name) => {
  const { document, half, growth, views, runs } = golden(name);

  test('every panel at every cursor', () => {
    const film = readFilm(document);
    for (const [cursor, view] of Object.entries(views)) {
      expect(viewAt(film, Number(cursor))).toEqual(view);
    }
  });

  test('every run of every node', () => {
    const film = readFilm(document);
    for (const [cursor, found] of Object.entries(runs)) {
      expect(nodesAt(film, Number(cursor)).map((node) => nodeRunAt(film, node, Number(cursor)))).toEqual(found);
    }
  });

  test('a film that grew is the film', () => {
    expect(grow(readFilm(half), growth)).toEqual(document);
  });
});

test('growth that does not follow is refused', () => {
  const { document, half, growth } = golden(FILMS[0]!);
  expect(() => grow(readFilm(document), growth)).toThrow(UnreadableFilm);
  expect(() => grow({ ...readFilm(half), run: 'other' }, growth)).toThrow(UnreadableFilm);
});

test.each([[null], ['x'], [{}], [{ version: 999 }]])('%j is no film', (value) => {
  expect(() => readFilm(value)).toThrow(UnreadableFilm);
});

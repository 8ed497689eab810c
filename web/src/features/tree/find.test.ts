import { expect, test } from 'vitest';
import { golden, longFilm } from '../../film/testFilms';
import { eventsOf } from '../../film/events';
import { folded, matchesIn, namesOf, termsOf } from './find';

test('words and quoted words are terms; case and accents do not matter', () => {
  expect(termsOf('Zürich  "the Owl"  x"')).toEqual(['zurich', 'the owl', 'x']);
  expect(folded('ÀÉİ')).toHaveLength(3);
});

test('a text is found at the entry that wrote it, also across pieces', () => {
  const film = longFilm(30);
  const [first] = film.items.said;
  const spread = {
    ...film,
    items: {
      ...film.items,
      said: [
        {
          ...first!,
          marks: [
            [3, 'An ow'],
            [4, 'l sits. An OWL'],
            [5, ' sleeps.'],
          ] as never,
        },
      ],
    },
  };
  expect(matchesIn(spread, { text: 'owl', within: '' })).toEqual([3, 4]);
  expect(matchesIn(spread, { text: 'owl sleeps', within: '' })).toEqual([3, 4]);
  expect(matchesIn(spread, { text: '"owl sleeps"', within: '' })).toEqual([4]);
  expect(matchesIn(spread, { text: 'bear', within: '' })).toEqual([]);
  expect(matchesIn(spread, { text: '', within: '' })).toEqual([]);
});

test('a run is narrowed down by kind, tool and agent', () => {
  const film = golden('state');
  const { tools, agents } = namesOf(film);
  expect(agents.length).toBeGreaterThan(0);
  for (const name of tools) expect(matchesIn(film, { text: '', within: `tool:${name}` }).length).toBeGreaterThan(0);
  const infos = eventsOf(film);
  const states = matchesIn(film, { text: '', within: 'kind:state' });
  expect(states).toEqual(infos.flatMap((info, cursor) => (info.kind === 'state' ? [cursor] : [])));
  expect(matchesIn(film, { text: '', within: 'agent:nobody' })).toEqual([]);
});

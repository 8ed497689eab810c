import { act } from 'react';
import { createRoot } from 'react-dom/client';
import { expect, test } from 'vitest';
import type { Film } from '../film/film';
import { golden } from '../film/testFilms';
import { useRested } from './playhead';

test('another film is drawn at its own moment at once, and never at that of the film before', async () => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  const [first, second] = [golden('state'), golden('sources')];
  const seen: string[] = [];
  function Shown({ film, at }: { film: Film; at: number }) {
    const rested = useRested(film, at);
    seen.push(`${film === first ? 'first' : 'second'} ${rested}`);
    return null;
  }
  const root = createRoot(document.createElement('div'));
  await act(async () => root.render(<Shown film={first} at={5} />));
  await act(async () => root.render(<Shown film={first} at={9} />));
  expect([seen[0], seen.at(-1)]).toEqual(['first 5', 'first 9']);
  await act(async () => root.render(<Shown film={second} at={30} />));
  expect(new Set(seen.filter((one) => one.startsWith('second')))).toEqual(new Set(['second 30']));
  await act(async () => root.unmount());
});

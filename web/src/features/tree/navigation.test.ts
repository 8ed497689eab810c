// @vitest-environment happy-dom
/** Where the playhead goes, and what is said of an entry. */
import { describe, expect, test } from 'vitest';
import { eventsOf } from '../../film/events';
import { golden } from '../../film/testFilms';
import { actionOf } from './keys';
import { rangeSummary } from '../../film/failures';
import { readRange } from './FindBar';
import * as moves from './navigation';
import { allSteps, stepNumber } from './steps';
import { speak } from './TreePanel';

describe('moves', () => {
  const film = golden('x_retried_node');

  test('events stop at both ends', () => {
    expect(moves.nextEvent(film, film.last)).toBeNull();
    expect(moves.previousEvent(film, 1)).toBeNull();
    expect(moves.nextEvent(film, 1)).toBe(2);
  });

  test('steps are the rows of the trace, in both ways', () => {
    const text = golden('workflow');
    const there: number[] = [];
    for (let at: number | null = 1; at !== null; at = moves.nextStep(text, at)) there.push(at);
    const back: number[] = [];
    for (let at: number | null = text.last; at !== null; at = moves.previousStep(text, at)) back.push(at);
    expect(there).toEqual(back.reverse());
    const starts = new Set(allSteps(text).map(({ since }) => since));
    expect(new Set(there)).toEqual(new Set([1, ...starts, text.last]));
    const numbers = there.map((at) => stepNumber(text, at).number);
    expect([...numbers].sort((a, b) => a - b)).toEqual(numbers);
    expect(numbers.at(-1)).toBe(allSteps(text).length);
    expect(moves.previousStep(text, 1)).toBeNull();
  });

  test('nodes are their bounds, in both ways', () => {
    const there: number[] = [];
    for (let at: number | null = 0; at !== null; at = moves.nextNode(film, at)) there.push(at);
    const back: number[] = [];
    for (let at: number | null = film.last + 1; at !== null; at = moves.previousNode(film, at)) back.push(at);
    expect(there.slice(1)).toEqual(back.slice(1).reverse());
    expect(there.length).toBeGreaterThan(2);
  });

  test('failures are found one after the other, and again from the first', () => {
    const first = moves.nextFailure(film, 0)!;
    expect(eventsOf(film)[first]!.failed).toBe(true);
    let at = first;
    for (let count = moves.failureCount(film); count > 0; count--) at = moves.nextFailure(film, at)!;
    expect(at).toBe(first);
  });

  test.each([
    ['exception', 1, 'a tool that raised, its agent and the run'],
    ['tool_error', 1, 'a tool, and its answer'],
    ['x_retried_node', 2, 'a node that failed twice'],
    ['state', 0, 'nothing'],
  ])('%s: one failure counts once', (name, count) => {
    expect(moves.failureCount(golden(name))).toBe(count);
  });

  test('peers are runs by the same name', () => {
    const name = moves.nodeNameAt(film, film.items.nodes.at(-1)!.since)!;
    const peers = film.items.nodes.filter((node) => node.is.name === name);
    expect(moves.nextPeer(film, 0, name)).toBe(peers[0]!.since);
    expect(moves.nextPeer(film, film.last, name)).toBe(peers[0]!.since);
    expect(moves.nextPeer(film, 1, 'nobody')).toBeNull();
  });

  test('a time finds its entry', () => {
    for (const time of film.times) expect(film.times[moves.cursorAt(film, time) - 1]).toBe(time);
    expect(moves.cursorAt(film, -1)).toBe(1);
    expect(moves.cursorAt(film, Infinity)).toBe(film.last);
  });
});

test('the playhead speaks', () => {
  const film = golden('parallel_specialists');
  expect(speak(film, 50)).toMatch(/^step \d+ of \d+, budget_specialist wrote text, 49 ms$/);
  expect(speak(film, film.last)).toMatch(/^step (\d+) of \1, run finished, 85 ms$/);
});

describe('a range', () => {
  test.each([
    ['12-48', { range: { from: 12, to: 48 }, isOpen: false }],
    ['48-12', { range: { from: 12, to: 48 }, isOpen: false }],
    ['12', { range: { from: 12, to: 20 }, isOpen: true }],
    ['30', { range: { from: 20, to: 30 }, isOpen: true }],
    ['0-9999', { range: { from: 1, to: 50 }, isOpen: false }],
    ['', null],
    ['x', null],
    ['1-2-3', null],
    ['-4', null],
  ])('%j is read from the address, as far as the run has it', (text, found) => {
    expect(readRange(text, 20, 50)).toEqual(found);
  });

  test('ranges that follow one another have all of the run, each thing once', () => {
    for (const name of ['parallel_specialists', 'tool_error', 'made-costs', 'made-model-calls']) {
      const film = golden(name);
      const whole = rangeSummary(film, { from: 1, to: film.last });
      const pieces = Array.from({ length: film.last }, (_, index) =>
        rangeSummary(film, { from: index + 1, to: index + 1 }),
      );
      for (const field of ['events', 'toolCalls', 'modelCalls', 'tokens', 'failures'] as const) {
        expect(pieces.reduce((sum, piece) => sum + piece[field], 0)).toBe(whole[field]);
      }
      expect(pieces.every((piece) => piece.duration === 0)).toBe(true);
      expect(whole.events).toBe(film.last);
    }
    expect(rangeSummary(golden('parallel_specialists'), { from: 1, to: 9999 }).tools.map(([name]) => name)).toContain(
      'get_weather',
    );
    expect(rangeSummary(golden('made-costs'), { from: 1, to: 9999 })).toHaveProperty('cost');
  });
});

test('an approval stands out of its event', () => {
  const film = golden('approval');
  const kinds = eventsOf(film).map((info) => info.kind);
  expect(kinds).toContain('approval');
  expect(kinds).toContain('tool');
});

test('keys are left to whoever types or presses', () => {
  const press = (key: string, target: HTMLElement, more: KeyboardEventInit = {}) => {
    document.body.append(target);
    let found: string | null = null;
    const listen = (event: KeyboardEvent) => (found = actionOf(event));
    addEventListener('keydown', listen);
    target.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, ...more }));
    removeEventListener('keydown', listen);
    target.remove();
    return found;
  };
  const make = (html: string) => {
    const box = document.createElement('div');
    box.innerHTML = html;
    return (box.firstElementChild ?? box) as HTMLElement;
  };
  expect(press('f', make('<p></p>'))).toBe('next failure');
  expect(press('f', make('<textarea></textarea>'))).toBeNull();
  expect(press('f', make('<p></p>'), { ctrlKey: true })).toBeNull();
  expect(press(' ', make('<button></button>'))).toBeNull();
  expect(press(' ', make('<p></p>'))).toBe('play');
  expect(press('ArrowRight', make('<input type="range">'))).toBeNull();
  expect(press('ArrowRight', make('<input type="range">'), { shiftKey: true })).toBe('next node');
});

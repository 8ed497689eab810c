import { expect, test } from 'vitest';
import { formatRoute, HOME, linkTo, parseRoute } from './route';

const ADDRESSES = [
  '#/',
  '#/search?text=owls+%22two+owls%22&outcome=failed',
  '#/app/tour/s-1',
  '#/evals/tour?run=r-1',
  '#/run/r-1?at=14&panel=graph&sel=burn_analyst',
  '#/app/tour/a%20b%2Fc?panel=state&waterfall=open',
];

test.each(ADDRESSES)('%s is read and written back', (address) => {
  expect(formatRoute(parseRoute(address))).toBe(address);
});

test('what makes no sense is home, or left out', () => {
  expect(parseRoute('')).toEqual(HOME);
  expect(parseRoute('#/nowhere/at/all').place).toEqual({ kind: 'home' });
  expect(parseRoute('#/run/r?at=-1').at).toBeNull();
  expect(parseRoute('#/run/r?at=1e9').at).toBeNull();
  expect(parseRoute('#/run/100%').place).toEqual({ kind: 'run', run: '100%' });
});

test('a link leads to the end, with nothing selected', () => {
  expect(linkTo({ kind: 'run', run: 'r' })).toBe('#/run/r');
});

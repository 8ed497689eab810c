import { expect, test } from 'vitest';
import { changeOf, readValue, whyNotKey } from './KeyEditor';

test('changes are sent as what is set and what is taken out', () => {
  expect(changeOf(new Map())).toEqual({});
  const change = changeOf(
    new Map([
      ['a', 1],
      ['b', undefined],
      ['__proto__', null],
    ]),
  );
  expect(change.removeState).toEqual(['b']);
  expect(JSON.stringify(change.stateDelta)).toBe('{"a":1,"__proto__":null}');
});

test.each([
  ['', 'name'],
  ['user:x', 'user:'],
  ['temp:x', 'temp:'],
  ['_adk_x', '_adk'],
])('%j cannot be set', (key, why) => expect(whyNotKey(key)).toContain(why));

test('a value is JSON', () => {
  expect(readValue('{"a": [1]}')).toEqual({ value: { a: [1] } });
  expect(readValue('calm')).toHaveProperty('why');
  expect(whyNotKey('user')).toBe('');
});

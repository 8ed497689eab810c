import { expect, test } from 'vitest';
import { address } from '../app/server';
import { addressesOf, snippetsOf } from './Connect';

test('every snippet and address is of this server, and names the app as an address does', () => {
  const base = address('');
  for (const { code } of snippetsOf('my app')) expect(code).toMatch(`${base}api/`);
  for (const { code } of snippetsOf("it's")) expect(code).not.toContain("/it's'}");
  expect(snippetsOf('my app')[0]?.code).toContain(`'${base}api/chat/my%20app'`);
  for (const [, url] of addressesOf('tour')) expect(url.startsWith(base)).toBe(true);
});

import { expect, test } from 'vitest';
import { shownAs } from './content';

test.each([
  ['image/png', 'image'],
  ['image/svg+xml', 'text'],
  ['text/html; charset=utf-8', 'text'],
  ['text/javascript', 'text'],
  ['application/json', 'json'],
  ['audio/wav', 'audio'],
  ['application/pdf', 'none'],
  ['', 'none'],
])('%s is shown as %s', (type, shown) => expect(shownAs(type)).toBe(shown));

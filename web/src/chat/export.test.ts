import { expect, test } from 'vitest';
import { fileName, curlOf, markdownOf } from './export';
import type { Message } from './message';

const MESSAGE: Message = {
  id: 'm',
  role: 'assistant',
  parts: [
    { type: 'text', text: 'Look:' },
    { type: 'tool-look', toolCallId: 'c', state: 'output-available', input: { q: '```' }, output: '````' },
    { type: 'data-state', data: { a: 1 } },
  ],
};

test('Markdown holds everything, fenced safely', () => {
  const text = markdownOf([MESSAGE]);
  expect(text).toContain('`````\nlook({"q":"```"})');
  expect(text).toContain('state: `{"a":1}`');
});

test('a command survives quotes', () => {
  expect(curlOf({ app: 'tour', session: 's', user: 'user' }, "isn't")).toContain(`isn'\\''t`);
});

test('a file is named after the conversation', () => {
  expect(fileName('Wälder / Brände: was tun?', 's1')).toBe('Wälder Brände was tun');
  expect(fileName('../..', 's1')).toBe('s1');
  expect(fileName('x'.repeat(200), 's1')).toHaveLength(80);
});

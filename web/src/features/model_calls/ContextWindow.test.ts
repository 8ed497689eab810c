/** Who fills the window: each part of a request counts once, and where it belongs. */
import { expect, test } from 'vitest';
import { contextShares } from './ContextWindow';
import type { ModelRequest } from './modelCalls';

const text = (role: string, ...said: string[]) => ({ role, parts: said.map((each) => ({ text: each })) });

test('every part has a kind', () => {
  const request: ModelRequest = {
    config: { systemInstruction: 'Be brief.' },
    tools: [{ functionDeclarations: [{ name: 'look' }] }],
    contents: [
      text('user', 'Hello'),
      text('model', 'Hi there'),
      { role: 'model', parts: [{ functionCall: { name: 'look', args: {} } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'look', response: { a: 1 } } }] },
      text('user', 'For context: what follows was said by another agent.', '[botanist] said: moss'),
      text('user', 'From before.\n<PAST_CONVERSATIONS>\nann: moss\n</PAST_CONVERSATIONS>'),
      { role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }] },
    ],
  };
  const { shares, characters, files } = contextShares(request);
  expect(shares.map(({ kind }) => kind)).toEqual([
    'Instruction',
    'Tools',
    'Memory',
    'User',
    'Answers',
    'Other agents',
    'Tool calls',
    'Tool results',
  ]);
  expect(Object.fromEntries(shares.map(({ kind, characters: length }) => [kind, length]))).toMatchObject({
    Instruction: 9,
    User: 5,
    Answers: 8,
    'Other agents': 73,
  });
  expect(characters).toBe(shares.reduce((sum, each) => sum + each.characters, 0));
  expect(files).toBe(1);
});

test('what the call before did not have is new', () => {
  const before: ModelRequest = {
    config: { systemInstruction: 'Be brief.' },
    tools: [],
    contents: [text('user', 'Hello')],
  };
  const after = {
    ...before,
    tools: [{ functionDeclarations: [{ name: 'look' }] }],
    contents: [...before.contents, text('model', 'Hi'), text('user', 'Look')],
  };
  const added = contextShares(after, before).shares.map(({ kind, added: count }) => [kind, count]);
  expect(Object.fromEntries(added)).toEqual({ Instruction: 0, Tools: 15, User: 4, Answers: 2 });
});

test('a request that holds nothing, or something odd, has no shares', () => {
  const empty: ModelRequest = { config: {}, tools: [], contents: [null, {}, { role: 'user', parts: [] }] };
  expect(contextShares(empty)).toEqual({ shares: [], characters: 0, files: 0 });
});

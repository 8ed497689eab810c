/** What a developer wants to know of two requests: which messages came, and what else is not as before. */
import { expect, test } from 'vitest';
import { differenceOf, toolsOf, type ModelRequest } from './modelCalls';

const said = (text: string) => ({ role: 'user', parts: [{ text }] });
const declared = (name: string, description = '') => ({ functionDeclarations: [{ name, description }] });
const before: ModelRequest = {
  config: { systemInstruction: 'Be brief.', temperature: 0.5 },
  contents: [said('one'), said('two')],
  tools: [declared('look'), { googleSearch: {} }],
};

test('messages that follow are added', () => {
  const found = differenceOf(before, { ...before, contents: [...before.contents, said('three')] });
  expect(found).toEqual({ same: 2, added: [said('three')], removed: [], changes: [] });
});

test('messages that were rewritten are removed and added', () => {
  const found = differenceOf(before, { ...before, contents: [said('one'), said('other')] });
  expect([found.same, found.removed, found.added]).toEqual([1, [said('two')], [said('other')]]);
});

test('instruction, config and tools are compared by name', () => {
  const after = {
    config: { systemInstruction: 'Be long.' },
    contents: before.contents,
    tools: [declared('look', 'Look.'), declared('find')],
  };
  expect(
    differenceOf(before, after).changes.map(({ what, before: old, after: now }) => [
      what,
      old === undefined,
      now === undefined,
    ]),
  ).toEqual([
    ['systemInstruction', false, false],
    ['temperature', false, true],
    ['tool look', false, false],
    ['tool googleSearch', false, true],
    ['tool find', true, false],
  ]);
});

test('tools of any shape have a name', () => {
  const tools = [{ functionDeclarations: [null, 'x'] }, { codeExecution: {} }] as unknown as ModelRequest['tools'];
  expect([...toolsOf({ ...before, tools }).keys()]).toEqual(['unnamed', 'codeExecution']);
});

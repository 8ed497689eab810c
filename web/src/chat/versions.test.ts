import { expect, test } from 'vitest';
import type { Message } from './message';
import type { Version } from '@adk-prism/client';
import { byAnswer, isEarlier } from './versions';

const version = (messageId: string, current = false): Version => ({
  messageId,
  userMessageId: 'u1',
  started: 0,
  current,
});
const messages = (...ids: string[]): Message[] => ids.map((id) => ({ id, role: 'assistant', parts: [] }));

test('each answer knows the others beside it', () => {
  const group = [version('a1'), version('a2', true)];
  const versions = byAnswer([group, [version('b1'), version('b2')]]);
  expect(versions.get('a1')).toBe(group);
  expect(versions.get('a2')).toBe(group);
  expect(versions.get('c')).toBeUndefined();
});

test('a conversation is an earlier one if an answer of it is', () => {
  const versions = byAnswer([[version('a1'), version('a2', true)]]);
  expect(isEarlier(messages('a2', 'b1'), versions)).toBe(false);
  expect(isEarlier(messages('a1', 'b1'), versions)).toBe(true);
  expect(isEarlier(messages('b1'), versions)).toBe(false);
});

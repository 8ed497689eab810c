/** Every part that the server can send is shown: by its own component, on a call's card, or with its message. */
import { isWaiting } from '@adk-prism/client';
import { prerender } from 'react-dom/static';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ChatContext, type ChatActions } from './ChatContext';
import { textOf, type Message, type Part } from './message';
import { showDetails } from './details';
import { markdownOf } from './export';
import { MessageView } from './MessageView';
import { leftFace } from './parts/Tool';
import type { PrismDataParts } from '@adk-prism/client/ai';

const PROOF: PrismDataParts['proof'] = {
  subject: { kind: 'specialist', name: 'burn_analyst' },
  origin: 'computed',
  confidence: 0.6,
  derivation: 'the lowest of its parts',
  readings: [],
  citations: [],
  reasoning_chain: [],
};

/** One of each; the compiler sees to it that none is missing. */
const DATA: PrismDataParts = {
  state: { topic: 'prisms' },
  artifact: { filename: 'note.txt', version: 3 },
  transfer: { to: 'botanist' },
  output: { author: 'flow', path: 'flow/step', output: { a: 1 } },
  'long-running': { toolCallId: 'c1', toolName: 'order_print' },
  progress: { toolCallId: 'c1', toolName: 'order_print', done: 1, total: 4 },
  approval: { approvalId: 'a1', toolCallId: 'c2', hint: 'think first' },
  'approval-request': { approvalId: 'a9', toolCallId: 'c9', state: 'denied', reason: 'not today' },
  usage: { messageId: 'm', usage: {} },
  'input-request': { id: 'q1', request: { message: 'Which colour?' } },
  'credential-request': { id: 'k1', request: {} },
  proof: PROOF,
  'executable-code': { code: 'print(1)', language: 'PYTHON' },
  'code-execution-result': { outcome: 'OUTCOME_OK', output: '1' },
  'file-reference': { uri: 'gs://bucket/x', mediaType: 'text/plain' },
  pcm: { content: '', sampleRate: 24000, channels: 1, bitDepth: 16 },
  'input-transcription': { text: 'hello there', final: true },
  'prism-takeover': { epoch: 1, superseded: [], inDoubt: ['c1'] },
  rewound: { messageIds: ['m1'] },
  warning: { code: 'tools-ignored', message: 'the tools were ignored' },
  'prism-replaced': { blocks: [] },
  interrupted: { author: 'tour' },
  error: { code: 'E42', author: 'tour', path: '', message: 'a step failed' },
  unrecognised: { kind: 'novelty', raw: { b: 2 } },
  'input-response': { id: 'q0', response: 'blue' },
  'credential-response': { id: 'k0', response: 'secret' },
  'confirmation-response': { approvalId: 'a8', payload: { approved_days: 3 } },
  'approval-response': { approvalId: 'a9', approved: true },
};

/** What is to be read where; empty: the part is heard, not seen, and its message tells of it. */
const SEEN: Record<keyof PrismDataParts, string> = {
  state: 'topic',
  artifact: 'note.txt',
  transfer: 'botanist',
  output: '<strong>Step</strong>',
  'long-running': 'Pending',
  progress: '',
  approval: 'think first',
  'approval-request': 'not today',
  usage: '',
  'input-request': 'Which colour?',
  'credential-request': 'sign in',
  proof: 'Burn analyst',
  'executable-code': 'print(1)',
  'code-execution-result': 'Result',
  'file-reference': 'gs://bucket/x',
  pcm: '',
  'input-transcription': 'hello there',
  'prism-takeover': 'may have run already',
  rewound: '',
  warning: 'tools were ignored',
  'prism-replaced': '',
  interrupted: 'was interrupted',
  error: 'a step failed',
  unrecognised: 'novelty',
  'input-response': 'Answer',
  'credential-response': 'Signed in',
  'confirmation-response': 'Approved with',
  'approval-response': '',
};

const CALLS: Part[] = [
  { type: 'tool-order_print', toolCallId: 'c1', state: 'output-available', input: {}, output: { ticket: 1 } },
  {
    type: 'dynamic-tool',
    toolName: 'send',
    toolCallId: 'c2',
    state: 'approval-requested',
    input: { to: 'Ada' },
    approval: { id: 'a1' },
  },
];

const ACTIONS: ChatActions = {
  app: 'a',
  user: 'user',
  session: 's',
  conversation: null,
  reason: '',
  seek: null,
  openPanel: () => undefined,
};

/** As it is once everything that loads late is there. */
async function shown(parts: Part[], metadata?: Message['metadata']): Promise<string> {
  const message: Message = { id: 'm', role: 'assistant', parts, metadata };
  const { prelude } = await prerender(
    <ChatContext value={ACTIONS}>
      <MessageView message={message} live={false} last isAnswered={() => false} />
    </ChatContext>,
  );
  return new Response(prelude).text();
}

beforeAll(() => showDetails(true));
afterAll(() => showDetails(false));

const NAMES = Object.keys(DATA) as (keyof PrismDataParts)[];

test.each(NAMES)('data-%s', async (name) => {
  const html = await shown([...CALLS, { type: `data-${name}`, data: DATA[name] } as Part]);
  expect(html).toContain(SEEN[name]);
  expect(html).not.toContain('not supported by this page');
});

test('a credential is never shown', async () => {
  expect(await shown([{ type: 'data-credential-response', data: DATA['credential-response'] }])).not.toContain(
    'secret',
  );
});

const PROOFS: [string, Partial<typeof PROOF>, string[], string[]][] = [
  ['a number', {}, ['Burn analyst', 'Confidence 60%'], ['source']],
  ['a level', { confidence: null, level: 'high' }, ['Confidence high'], []],
  [
    'sources and no confidence',
    { confidence: null, citations: [{ source: 'MTBS', origin: 'parsed', cursor: 1 }] },
    ['1 source'],
    ['Confidence', 'no number'],
  ],
  ['neither', { confidence: null }, [], ['Burn analyst']],
];

test.each(PROOFS)('a proof with %s has no badge for what was not stated', async (_, more, seen, unseen) => {
  const html = await shown([{ type: 'data-proof', data: { ...PROOF, ...more } }]);
  for (const words of seen) expect(html).toContain(words);
  for (const words of unseen) expect(html).not.toContain(words);
});

const PLAIN: [Part, string][] = [
  [{ type: 'text', text: 'plain words' }, 'plain words'],
  [{ type: 'reasoning', text: 'thoughts' }, 'Thought'],
  [{ type: 'source-url', sourceId: '1', url: 'https://a.example/x', title: 'A page' }, 'A page'],
  [{ type: 'source-document', sourceId: '2', mediaType: 'application/pdf', title: 'A paper' }, 'A paper'],
  [{ type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AA==' }, '<img'],
  [{ type: 'reasoning-file', mediaType: 'image/png', url: 'data:image/png;base64,AA==' }, '<img'],
  [{ type: 'custom', kind: 'x.y' } as Part, 'x.y'],
];

test.each(PLAIN)('%j', async (part, words) => {
  expect(await shown([part])).toContain(words);
});

const STATES: [string, object, string][] = [
  ['input-streaming', { input: { a: 1 } }, 'Interrupted'],
  ['input-available', { input: { a: 1 } }, 'Waiting'],
  ['approval-requested', { input: {}, approval: { id: 'x' } }, 'Needs your approval'],
  ['approval-responded', { input: {}, approval: { id: 'x', approved: false, reason: 'no' } }, 'Denied'],
  ['output-available', { input: {}, output: 1 }, 'Done'],
  ['output-error', { input: {}, errorText: 'it broke' }, 'it broke'],
  ['output-denied', { input: {}, approval: { id: 'x', approved: false } }, 'Denied'],
];

test.each(STATES)('a call in the state %s', async (state, more, words) => {
  expect(await shown([{ type: 'tool-x', toolCallId: 'c', state, ...more } as Part])).toContain(words);
});

const NESTED = { callProviderMetadata: { adk: { author: 'clerk', branch: 'clerk@outer' } } };
const DELEGATING: Part = { type: 'tool-clerk', toolCallId: 'outer', state: 'input-available', input: {} };
const LONG_RUNNING = { toolCallId: 'c', toolName: 'order_print' };

/** What a card says, and what it does not. */
const CARDS: [string, Part[], string[], string[]][] = [
  [
    'a call that the server runs',
    [
      DELEGATING,
      {
        type: 'tool-refund',
        toolCallId: 'in',
        state: 'approval-requested',
        input: {},
        approval: { id: 'x' },
        ...NESTED,
      } as Part,
    ],
    ['Waiting for approval of refund', 'Approve'],
    ['Send result'],
  ],
  [
    'a call that waits for an answer',
    [DELEGATING, { type: 'data-input-request', data: { id: 'q', request: {} } }],
    ['Waiting for your answer'],
    ['Send result'],
  ],
  [
    'an expired approval',
    [
      {
        type: 'tool-x',
        toolCallId: 'c',
        state: 'output-denied',
        input: {},
        approval: { id: 'x', approved: false, reason: 'Expired: too late' },
      },
      { type: 'data-approval', data: { approvalId: 'x', toolCallId: 'c', status: 'expired' } },
    ],
    ['Expired'],
    ['Approve', 'You denied'],
  ],
  [
    'an expired question',
    [{ type: 'data-input-request', data: { id: 'q', request: { message: 'Which?' }, status: 'expired' } }],
    ['Which?', 'This request has expired'],
    ['<form'],
  ],
  [
    'an answered sign-in',
    [{ type: 'data-credential-request', data: { id: 'q', request: {}, status: 'answered' } }],
    ['Answered.'],
    ['<form'],
  ],
  [
    'a ticket',
    [
      { type: 'tool-order_print', toolCallId: 'c', state: 'output-available', input: {}, output: 1 },
      { type: 'data-long-running', data: LONG_RUNNING },
    ],
    ['Pending'],
    [],
  ],
  [
    'a tool that said how far it was, when its run was over',
    [
      {
        type: 'tool-order_print',
        toolCallId: 'c',
        state: 'output-available',
        input: {},
        output: { done: 1, total: 4, message: 'first page' },
        preliminary: true,
      },
    ],
    ['Waiting'],
    ['Done', '<progress'],
  ],
  [
    'an answered client tool',
    [
      { type: 'tool-order_print', toolCallId: 'c', state: 'output-available', input: {}, output: 1 },
      { type: 'data-long-running', data: { ...LONG_RUNNING, status: 'answered' } },
    ],
    ['Done'],
    ['Pending'],
  ],
  [
    'an approval with a payload',
    [
      { type: 'tool-x', toolCallId: 'c', state: 'approval-requested', input: {}, approval: { id: 'x' } },
      {
        type: 'data-approval',
        data: {
          approvalId: 'x',
          toolCallId: 'c',
          payload: { days: 4 },
          schema: { type: 'object', properties: { days: { type: 'number' } }, required: ['days'] },
        },
      },
    ],
    ['<form', 'value="4"', 'Approve'],
    [],
  ],
];

test.each(CARDS)('the card of %s', async (_, parts, seen, unseen) => {
  const html = await shown(parts);
  for (const words of seen) expect(html).toContain(words);
  for (const words of unseen) expect(html).not.toContain(words);
});

test.each([
  ['nothing but a call of the server is open', [DELEGATING], true],
  [
    'a call of the client is open',
    [
      { ...DELEGATING, toolCallId: 'c' },
      { type: 'data-long-running', data: LONG_RUNNING },
    ],
    false,
  ],
  [
    'an approval is open',
    [{ type: 'tool-x', toolCallId: 'c', state: 'approval-requested', input: {}, approval: { id: 'x' } }],
    false,
  ],
] as [string, Part[], boolean][])('a message is complete where %s: %s', (_, parts, complete) => {
  expect(isWaiting({ role: 'assistant', parts })).toBe(!complete);
});

test('a part that nobody knows is shown as it came', async () => {
  const html = await shown([{ type: 'data-novelty', data: { shade: 'ultraviolet' } } as unknown as Part]);
  expect(html).toContain('data-novelty');
  expect(html).toContain('not supported by this page');
});

test('usage, model and why it stopped', async () => {
  const html = await shown([{ type: 'text', text: 'x' }], {
    runId: 'r',
    usage: { totalTokens: 1234 },
    modelVersion: 'model-x',
    adkFinishReason: 'MAX_TOKENS',
    audio: { chunks: 1, bytes: 9, sampleRate: 24000, duration: 1 },
  });
  for (const words of ['1.2k tokens', 'model-x', 'cut off at the token limit', 'Audio']) expect(html).toContain(words);
});

const WITHHELD: Part[] = [
  { type: 'reasoning', text: 'the secret thought', providerMetadata: { prism: { block: 'reasoning-1' } } },
  { type: 'text', text: 'the secret word', providerMetadata: { prism: { replaced: true } } },
  {
    type: 'tool-tell',
    toolCallId: 'c',
    state: 'output-error',
    input: {},
    errorText: 'the secret call',
    callProviderMetadata: { prism: { replaced: true } },
  } as Part,
  { type: 'data-prism-replaced', data: { blocks: ['reasoning-1', 'text-2'] } },
  { type: 'text', text: 'what was stored', providerMetadata: { prism: { block: 'text-3' } } },
];

test('what was replaced is not shown, and not copied', async () => {
  const message: Message = { id: 'm', role: 'assistant', parts: WITHHELD };
  for (const text of [await shown(WITHHELD), markdownOf([message]), textOf(message)]) {
    expect(text).toContain('what was stored');
    expect(text).not.toContain('secret');
  }
});

test('thoughts stay in place, folded; changes of the state are details', async () => {
  showDetails(false);
  const html = await shown([
    { type: 'reasoning', text: 'a thought', state: 'done' },
    { type: 'data-state', data: { topic: 1 } },
    { type: 'text', text: 'the answer' },
  ]);
  showDetails(true);
  expect(html).toContain('the answer');
  expect(html).toContain('Thought');
  expect(html).not.toContain('hmm, let me see');
  expect(html).not.toContain('topic');
});

const CALLER: Part = { type: 'tool-burn_analyst', toolCallId: 'c-1', state: 'output-available', input: {}, output: {} };
const WITHIN = { adk: { author: 'burn_analyst', path: 'root@1/burn_analyst@1', branch: 'burn_analyst@c-1' } };
const FINDING: Part = { type: 'text', text: 'a finding', state: 'done', providerMetadata: WITHIN };
const SEARCH = {
  type: 'tool-search',
  toolCallId: 'c-2',
  state: 'output-available',
  input: {},
  output: {},
  callProviderMetadata: WITHIN,
} as Part;
const SURE: Part = {
  type: 'data-proof',
  data: { ...PROOF, subject: { kind: 'specialist', name: 'burn_analyst', calls: ['c-1'] } },
};
const SUMMARY: Part = {
  type: 'text',
  text: 'the briefing',
  state: 'done',
  providerMetadata: { adk: { author: 'root', path: 'root@1' } },
};

/** What is to be seen of a message with a sub-agent, and what not. */
const GROUPS: [string, Part[], string[], string[]][] = [
  [
    'is done: one line',
    [CALLER, FINDING, SEARCH, SURE, SUMMARY],
    ['Burn analyst', '1 tool · 60%', 'the briefing'],
    ['a finding', 'search'],
  ],
  ['has the last word: open', [CALLER, FINDING], ['a finding'], []],
  [
    'has failed: open',
    [{ ...CALLER, state: 'output-error', output: undefined, errorText: 'it broke' } as Part, FINDING, SUMMARY],
    ['a finding', 'Failed', 'it broke'],
    [],
  ],
  [
    'asks for something: open',
    [
      CALLER,
      FINDING,
      { ...SEARCH, state: 'approval-requested', output: undefined, approval: { id: 'a' } } as Part,
      SUMMARY,
    ],
    ['Waiting for you', 'Approve'],
    [],
  ],
  [
    'spoke for itself, before others: one line',
    [
      { ...FINDING, providerMetadata: { adk: { author: 'writer', path: 'flow@1/writer@1' } } },
      { ...SUMMARY, providerMetadata: { adk: { author: 'critic', path: 'flow@1/critic@1' } } },
    ],
    ['Writer', 'Critic', 'the briefing'],
    ['a finding'],
  ],
];

test.each(GROUPS)('a sub-agent that %s', async (_, parts, seen, unseen) => {
  const html = await shown(parts);
  for (const words of seen) expect(html).toContain(words);
  for (const words of unseen) expect(html).not.toContain(words);
});

test.each([
  ['nothing at all', [{ type: 'step-start' }], {}, true],
  ['a call and no word', [CALLER], {}, true],
  ['a word', [SUMMARY], {}, false],
  ['a question', [{ type: 'data-input-request', data: { id: 'q', request: {} } }], {}, false],
  ['a failure', [], { failure: 'it broke' }, false],
] as [string, Part[], object, boolean][])('an answer of %s', async (_, parts, metadata, isEmpty) => {
  expect((await shown(parts, { runId: 'r', ...metadata })).includes('ended without an answer')).toBe(isEmpty);
});

test('passages that ADK says are quoted, and its context cache, are below the answer', async () => {
  const html = await shown([{ type: 'text', text: 'To be' }], {
    runId: 'r',
    citations: [{ uri: 'https://example.org/hamlet', title: 'Hamlet', license: 'public domain' }],
    cache: { hits: 2, misses: 1 },
  });
  expect(html).toContain('https://example.org/hamlet');
  expect(html).toContain('public domain');
  expect(html).toContain('cache hit in 2 of 3 calls');
});

test('what a person answered is shown, not only that they did', async () => {
  expect(await shown([{ type: 'data-input-response', data: { id: 'q', response: 'the blue one' } }])).toContain(
    'the blue one',
  );
});

test.each([
  ['', 'Expired'],
  ['OK', 'Approved in chat'],
  ['Short run', 'Approved in chat'],
  ['Modify: since 2021', 'Change requested'],
  ['Cancel', 'Cancelled in chat'],
  ['What would it cost?', 'Answered in chat'],
])('an approval that was left for the message %j', (reply, word) => {
  expect(leftFace(reply).word).toBe(word);
});

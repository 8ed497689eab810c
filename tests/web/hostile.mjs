// A capture of an agent that wishes its reader ill: every payload in every place that an event has. Synthetic.
import { readFile } from 'node:fs/promises';
import path from 'node:path';

export const PAYLOADS = JSON.parse(await readFile(path.join(import.meta.dirname, 'payloads.json'), 'utf-8'));

/** A key of its own, also where that is `__proto__`. */
const keyed = (key, value) => ({ [key]: value });
const allKeyed = () => Object.defineProperties({}, Object.fromEntries(PAYLOADS.map((word) => [word, { value: { polluted: word }, enumerable: true }])));

const events = [];

function add(author, content, more = {}) {
  const id = `e-${events.length}`;
  events.push({ id, invocationId: 'hostile', author, timestamp: 1_750_000_000 + events.length, content, ...more });
}

const said = (...parts) => ({ role: 'model', parts });

add('user', { role: 'user', parts: [{ text: PAYLOADS.join(' ') }] });
for (const [number, word] of PAYLOADS.entries()) {
  // Some are agents and tools by name: as many as a graph can be drawn of.
  const isNamed = number % 5 === 0 || word in {};
  const [author, tool] = isNamed ? [word, word] : ['agent', 'tool'];
  const more = { branch: word, customMetadata: keyed(word, word), nodeInfo: { path: `root@1/${author}@1` }, modelVersion: word };
  add(author, said({ text: word }, { text: word, thought: true }), more);
  add(author, said({ functionCall: { id: `c-${number}`, name: tool, args: { ...keyed('words', word), ...keyed(word, word) } } }), more);
  const layer = { finding: word, confidence: word, confidence_factors: [{ name: word, value: word, effect: 0.5, why: word }], citations: [{ source: word, reference: word, uri: word, excerpt: word, hash: word }], reasoning_chain: [word] };
  const response = { ...keyed('result', word), ...keyed(word, { polluted: word }), proof_layer: layer };
  const actions = { stateDelta: keyed(word, { polluted: word }), artifactDelta: keyed(word, 1) };
  add(author, { role: 'user', parts: [{ functionResponse: { id: `c-${number}`, name: tool, response } }] }, { ...more, actions });
  add(author, said({ text: `${word}\n\nConfidence: ${word}\nSources: ${word}` }), { groundingMetadata: { groundingChunks: [{ web: { uri: word, title: word, domain: word } }] }, citationMetadata: { citations: [{ uri: word, title: word, license: word }] } });
  add(author, null, { errorCode: word, errorMessage: word, finishReason: word });
  add(author, null, { inputTranscription: { text: word, finished: true } });
  add(author, said({ inlineData: { mimeType: word, data: 'PHN2Zy8+', displayName: word } }, { fileData: { fileUri: word, mimeType: word, displayName: word } }));
  add(author, said({ executableCode: { language: word, code: word } }, { codeExecutionResult: { outcome: word, output: word } }), { output: keyed(word, word) });
  add(author, null, { actions: { transferToAgent: author } });
}
add('agent', said({ functionCall: { id: 'ask', name: 'adk_request_credential', args: { functionCallId: 'c-0', authConfig: { exchangedAuthCredential: { oauth2: { authUri: 'javascript:globalThis.ran=1' } } } } } }), { longRunningToolIds: ['ask'] });
add('agent', said({ functionCall: { id: 'put', name: 'adk_request_input', args: { message: PAYLOADS[3], response_schema: { type: 'object', properties: allKeyed() } } } }), { longRunningToolIds: ['put'] });
add('agent', null, { actions: { stateDelta: allKeyed() } });

/** As JSON lines, with keys that JavaScript would rather not write. */
export const CAPTURE = events.map((event) => JSON.stringify(event)).join('\n');

/** Markdown that overflows a parser's stack, or takes it seconds. More of it is tried in `bounds.test.tsx`. */
export const MONSTERS = [
  '>'.repeat(2000),
  '> '.repeat(5000),
  '+ '.repeat(5000),
  '1. > - '.repeat(1500),
  '*a_'.repeat(3000),
  `${'*a '.repeat(2000)}${'b*'.repeat(2000)}`,
  `${'**a'.repeat(1500)}${'a**'.repeat(1500)}`,
  `${'!['.repeat(1500)}a${'](b)'.repeat(1500)}`,
  `${'|a'.repeat(500)}|\n${'|-'.repeat(500)}|\n${'|\n'.repeat(3000)}`,
  `|a\n|${'-'.repeat(50_000)}x`,
];

/** The same as what an agent said, for a file. */
export const MONSTROUS = MONSTERS.map((text, at) => JSON.stringify({ id: `m-${at}`, invocationId: 'monsters', author: 'agent', timestamp: 1_750_000_000 + at, content: said({ text: `${text}\n\nend ${at}` }) })).join('\n');

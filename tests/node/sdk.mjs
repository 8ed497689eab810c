// The releases of the AI SDK under test, loaded by their alias in package.json.
//
// The SDK exports its chunk schema only behind a validating function. Zod hands the schema that
// refused a value to the error map (`issue.inst`), so refusing one value gives the schema itself:
// no patched source, and the key sets are the ones that the SDK really checks.
import { readFileSync } from 'node:fs';
import * as z from 'zod/v4';

/** Those that dialects 6 and 7 are for, whose schemas the package keeps. */
export const CURRENT = ['ai-6.0.0', 'ai-6', 'ai-7'];
export const ALIASES = ['ai-5.0.0', 'ai-5', ...CURRENT];

const loading = new Map();

/** Load `alias` once: `{alias, version, ai, schema, chunkObjects}`, a zod object per chunk type. */
export function loadSdk(alias) {
  if (!ALIASES.includes(alias)) {
    throw new Error(`sdk is ${JSON.stringify(alias)}; expected one of ${ALIASES.join(', ')}`);
  }
  if (!loading.has(alias)) {
    queue = queue.then(() => load(alias)); // one at a time: zod's error map is global
    loading.set(alias, queue);
  }
  return loading.get(alias);
}

let queue = Promise.resolve();

async function load(alias) {
  const ai = await import(alias);
  const manifest = new URL(import.meta.resolve(`${alias}/package.json`));
  const { version } = JSON.parse(readFileSync(manifest, 'utf8'));
  const union = await chunkUnion(ai, alias);
  const schema = ai.uiMessageChunkSchema ?? union;
  return { alias, version, ai, schema, chunkObjects: union._zod.def.options };
}

async function chunkUnion(ai, alias) {
  const probe = { type: 'probe' };
  let union;
  const isProbe = ({ input }) => input?.type === probe.type && Object.keys(input).length === 1;
  z.config({ customError: issue => void (isProbe(issue) && (union = issue.inst)) });
  try {
    if (ai.uiMessageChunkSchema) await ai.uiMessageChunkSchema().validate(probe);
    else await refusedByTransport(ai, probe);
  } finally {
    z.config({ customError: undefined });
  }
  if (union?._zod.def.type !== 'union') {
    throw new Error(`${alias}: the chunk schema is no longer a zod union`);
  }
  return union;
}

// 5.0.0 exports no schema at all: its transport checks what it reads.
async function refusedByTransport(ai, chunk) {
  const fetch = async () => new Response(`data: ${JSON.stringify(chunk)}\n\n`);
  const transport = new ai.DefaultChatTransport({ api: 'http://judge.invalid', fetch });
  const stream = await transport.sendMessages({ chatId: 'probe', messages: [], trigger: 'submit-message' });
  await stream.getReader().read().catch(() => {});
}

/** The shape of a chunk object: key -> zod type. */
export const shapeOf = object => object._zod.def.shape;

/**
 * The objects for a chunk of this `type`, or undefined when the SDK knows no such type: as the
 * SDK has it (`own`), with unknown keys refused (`strict`) and with them allowed (`loose`).
 */
export function objectsFor({ chunkObjects }, type) {
  const own = chunkObjects.find(object => z.safeParse(shapeOf(object).type, type).success);
  if (own !== undefined && !derived.has(own)) {
    const shape = shapeOf(own);
    derived.set(own, { own, strict: z.strictObject(shape), loose: z.looseObject(shape) });
  }
  return derived.get(own);
}

// Zod compiles an object at its first use: made once per type, not once per chunk.
const derived = new Map();

/**
 * What a chat UI keeps, as @ai-sdk/react does: a pushed message stays the object that the
 * stream goes on changing, a replaced one is a copy. Which changes a UI sees depends on that.
 */
export class ChatState {
  status = 'ready';
  error = undefined;
  constructor(messages = []) { this.messages = messages; }
  pushMessage = message => { this.messages = [...this.messages, message]; };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (index, message) => {
    this.messages = this.messages.with(index, this.snapshot(message));
  };
  snapshot = value => structuredClone(value);
}

/** The SDK's chat over `ChatState`. */
export function makeChat(ai, { messages, ...init }) {
  class Chat extends ai.AbstractChat {}
  return new Chat({ ...init, state: new ChatState(messages) });
}

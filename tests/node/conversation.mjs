// A scripted conversation over the SDK's real chat. chat.mjs has the script format.
import { refusal, satisfied } from './client.mjs';
import { prepareSendMessagesRequest } from './last_message.mjs';
import { PrismChatTransport, loadMessages, sendWhenAnswered } from '../../packages/client/src/ai.ts';
import { loadSdk, makeChat } from './sdk.mjs';
import { QUIET_TURNS, turn } from './turns.mjs';
import { Wire } from './wire.mjs';

const REACT = { 'ai-6': 'ai-react-6', 'ai-7': 'ai-react-7' };
const HELPERS = {
  tools: 'lastAssistantMessageIsCompleteWithToolCalls',
  approvals: 'lastAssistantMessageIsCompleteWithApprovalResponses',
};
const copy = value => JSON.parse(JSON.stringify(value));
const toolNameOf = part =>
  part.type === 'dynamic-tool' ? part.toolName : part.type.slice('tool-'.length);

export class Conversation {
  finishes = [];
  data = [];
  errors = [];
  #running = Promise.resolve();

  /** Load the SDK and open the chat of `script`. */
  static async open(script, deadline) {
    const sdk = await loadSdk(script.sdk);
    const { ai } = sdk;
    const react = script.client === 'react' ? await import(reactFor(script.sdk)) : null;
    const construct = react ? init => new react.Chat(init) : init => makeChat(ai, init);
    return new Conversation(script, { sdk, construct, deadline });
  }

  constructor(script, { sdk, construct, deadline }) {
    const { ai } = sdk;
    this.script = script;
    this.sdk = sdk;
    this.ai = ai;
    this.construct = construct;
    this.wire = new Wire({ limit: script.limits?.requests ?? 20, deadline });
    this.id = script.id ?? ai.generateId();
    this.enter(script.messages ?? []);
  }

  /** Go on in a new chat that shows `messages`, as a freshly loaded page does. */
  enter(messages) {
    this.chat = this.construct({
      id: this.id,
      messages,
      transport: this.#transport(),
      sendAutomaticallyWhen: this.#sendsAutomatically,
      onToolCall: ({ toolCall }) => this.#runClientTool(toolCall),
      onData: part => { this.data.push(copy(part)); },
      onError: error => { this.errors.push(`${error.name}: ${error.message}`); },
      onFinish: finish => { this.finishes.push(finishOf(finish)); },
    });
  }

  #transport() {
    const { url: api, headers, body, lastOnly, prism } = this.script;
    const { fetch } = this.wire;
    if (prism) return new PrismChatTransport({ ...this.#connection(), body, ...prism });
    const options = { api, headers, body, fetch, ...(lastOnly && { prepareSendMessagesRequest }) };
    return new this.ai.DefaultChatTransport(options);
  }

  /** The address of the chat as our own client takes it. */
  #connection() {
    const { url, headers } = this.script;
    const [, server, app, dialect] = /^(.*)\/api\/chat\/([^?]+)(?:\?dialect=(.))?$/.exec(url);
    return { server, app, dialect, headers, fetch: this.wire.fetch };
  }

  #sendsAutomatically = options => {
    if (this.script.prism && !this.script.auto) return sendWhenAnswered(options);
    const helpers = this.script.auto ?? Object.keys(HELPERS);
    return helpers.some(name => this.ai[HELPERS[name]]?.(options));
  };

  #runClientTool({ toolName, toolCallId }) {
    const answer = this.script.clientTools?.[toolName];
    // Not awaited: the chat runs its jobs one after the other and this is one of them.
    if (answer !== undefined) void this.addOutput(toolName, toolCallId, answer);
  }

  addOutput(tool, toolCallId, { output, errorText }) {
    const isError = errorText !== undefined;
    const result = isError ? { state: 'output-error', errorText } : { output };
    const add = this.chat.addToolOutput ?? this.chat.addToolResult; // its name in 5.0.0
    return add({ tool, toolCallId, ...result });
  }

  /** Run a request of the chat to its end, or to the place where the step breaks it. */
  async run(request, { cut, hold, lost }) {
    if (lost !== undefined) this.wire.loseNext(lost);
    const [kind, at] = cut ? ['cut', cut] : ['hold', hold];
    const reached = at ? this.wire.breakNext(kind, at) : null;
    let isReached = false;
    void reached?.then(() => { isReached = true; });
    this.#running = request();
    this.#running.catch(() => {}); // whoever awaits it hears of it; nobody may await a held one
    await (hold ? Promise.race([reached, this.#running]) : this.#running);
    await this.settle();
    if (at && !isReached) {
      throw new Error(`the response ended before the ${kind} at ${JSON.stringify(at)}`);
    }
  }

  /** Wait until the chat neither reads nor posts, or until its response is held. */
  async settle() {
    for (let quiet = 0; quiet < QUIET_TURNS; quiet += 1) {
      const isBusy = ['submitted', 'streaming'].includes(this.chat.status) || this.wire.open > 0;
      if (isBusy && !this.wire.isHolding) quiet = 0;
      await turn();
    }
  }

  /** Let a held response come to its end. */
  async release() {
    this.wire.release();
    await this.#running;
    await this.settle();
  }

  /** Let a held response break off, and wait until the client has asked for the rest. */
  async drop() {
    const { requests } = this.wire;
    const before = requests.length;
    this.wire.drop();
    while (requests.length === before || requests.at(-1).status === null) await turn();
  }

  /** Stop the response as the stop button does. */
  async stop() {
    const stopping = this.chat.stop();
    // 6.0.0 cannot abort a resumed response: it reads on and drops what comes.
    this.wire.release();
    await stopping;
    await this.#running;
    await this.settle();
  }

  /** Calls in `state`, of one tool when `tool` is given; none is an error of the script. */
  calls(state, tool) {
    const parts = this.chat.messages.flatMap(message => message.parts);
    const found = parts.filter(part => part.toolCallId !== undefined && part.state === state
      && (tool === undefined || toolNameOf(part) === tool));
    if (found.length === 0) throw new Error(`no call of ${tool ?? 'any tool'} is ${state}`);
    return found.map(part => ({ ...part, tool: toolNameOf(part) }));
  }

  /** The id of a message, given by its index (negative: from the end) or by the id itself. */
  messageId(message) {
    if (typeof message !== 'number') return message;
    const found = this.chat.messages.at(message);
    if (found === undefined) throw new Error(`no message ${message}`);
    return found.id;
  }

  /** Fetch a route of this chat, `{url}/{id}/{path}`, with the query of the url. */
  async fetchRoute(path, init) {
    const url = new URL(this.script.url);
    url.pathname += `/${encodeURIComponent(this.id)}/${path}`;
    const headers = { ...this.script.headers };
    if (init?.body !== undefined) headers['content-type'] = 'application/json';
    const response = await this.wire.fetch(url, { ...init, headers });
    return { status: response.status, text: await response.text() };
  }

  /** What the server kept: each message one that the SDK accepts, and none that makes it post again. */
  async storedMessages() {
    const messages = this.script.prism
      ? await loadMessages(this.#connection(), this.id)
      : await this.#fetchMessages();
    for (const message of messages) {
      const refused = await refusal(this.sdk, message);
      if (refused !== null) throw new Error(`a kept message is refused: ${refused}`);
    }
    const helper = satisfied(this.ai, messages);
    if (helper !== null) throw new Error(`a reloaded page would post at once: ${helper}`);
    return messages;
  }

  async #fetchMessages() {
    const { status, text } = await this.fetchRoute('messages');
    if (status !== 200) throw new Error(`GET messages answered ${status}: ${text}`);
    return JSON.parse(text);
  }

  report() {
    const { status, error, messages } = this.chat;
    return { status, error: error?.message ?? null, messages: copy(messages) };
  }
}

function reactFor(sdk) {
  if (!(sdk in REACT)) throw new Error(`no @ai-sdk/react is installed for ${sdk}`);
  return REACT[sdk];
}

function finishOf({ message, finishReason = null, isAbort, isDisconnect, isError }) {
  return { messageId: message.id, finishReason, isAbort, isDisconnect, isError };
}

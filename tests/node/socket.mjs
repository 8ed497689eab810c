// Drives the AI SDK's real WebSocketChatTransport against a server, as a worker (see worker.mjs).
//
// A request is {id, script}; the script: {url, id, steps}. All chats of a script share one transport,
// and so one socket, until `drop`. A step is {do: <name>, chat?: <id>, ...}:
//   send     {text, until?}   with until, goes on as soon as so many letters of the answer are there
//   finish   wait until the chat is quiet
//   approve  {approved, reason?}   every pending approval
//   stop     the stop button
//   drop     the connection is lost; the next request opens another
//   reload   forget the chat's messages, as a new tab has none
//   resume   {until?}   resumeStream()
//   raw      {frames}   send frames on a socket of its own; the reply has what came back
//
// The reply: steps [{do, status, error, messages}], finishes, errors, raw.
import { loadSdk, makeChat } from './sdk.mjs';
import { quiet, turn } from './turns.mjs';
import { serve } from './worker.mjs';

const copy = value => JSON.parse(JSON.stringify(value));
const lettersOf = chat => (chat.messages.at(-1)?.role === 'assistant' ? chat.messages.at(-1).parts : [])
  .map(part => part.text ?? '').join('').length;

class Stage {
  chats = new Map();
  finishes = [];
  errors = [];
  raw = [];

  constructor(ai, script) {
    this.ai = ai;
    this.script = script;
    this.transport = new ai.WebSocketChatTransport({ url: script.url, ...script.transport });
  }

  chat(id = this.script.id) {
    if (!this.chats.has(id)) this.open(id);
    return this.chats.get(id);
  }

  open(id) {
    const { ai } = this;
    this.chats.set(id, makeChat(ai, {
      id,
      messages: [],
      transport: this.transport,
      sendAutomaticallyWhen: ai.lastAssistantMessageIsCompleteWithApprovalResponses,
      onError: error => { this.errors.push(`${error.name}: ${error.message}`); },
      onFinish: ({ isAbort, isDisconnect, isError }) => {
        this.finishes.push({ chat: id, isAbort, isDisconnect, isError });
      },
    }));
  }

  async settle(chat) {
    while (['submitted', 'streaming'].includes(chat.status)) await turn();
    await quiet();
  }

  async until(chat, request, letters) {
    request.catch(() => {});
    if (letters === undefined) { await request; await this.settle(chat); return; }
    let isOver = false;
    void request.finally(() => { isOver = true; });
    while (lettersOf(chat) < letters && !isOver) await turn();
    if (isOver) throw new Error(`the answer ended before ${letters} letters`);
  }
}

const STEPS = {
  send: (stage, { chat: id, text, until }) => {
    const chat = stage.chat(id);
    return stage.until(chat, chat.sendMessage({ text }), until);
  },
  resume: (stage, { chat: id, until }) => {
    const chat = stage.chat(id);
    return stage.until(chat, chat.resumeStream(), until);
  },
  finish: (stage, { chat: id }) => stage.settle(stage.chat(id)),
  stop: async (stage, { chat: id }) => {
    await stage.chat(id).stop();
    await stage.settle(stage.chat(id));
  },
  drop: async stage => { stage.transport.close(); await quiet(); },
  reload: async (stage, { chat: id = stage.script.id }) => { stage.open(id); },
  approve: async (stage, { chat: id, approved, reason }) => {
    const chat = stage.chat(id);
    const parts = chat.messages.flatMap(message => message.parts);
    for (const part of parts.filter(each => each.state === 'approval-requested')) {
      await chat.addToolApprovalResponse({ id: part.approval.id, approved, reason });
      await stage.settle(chat);
    }
  },
  raw: async (stage, { frames }) => {
    const socket = new WebSocket(stage.script.url);
    const { promise, resolve } = Promise.withResolvers();
    socket.onmessage = ({ data }) => {
      stage.raw.push(JSON.parse(data));
      if (['end', 'error', 'no-active'].includes(stage.raw.at(-1).type)) socket.close();
    };
    socket.onclose = ({ code, reason }) => { stage.raw.push({ code, reason }); resolve(); };
    socket.onopen = () => { for (const frame of frames) socket.send(frame); };
    await promise;
  },
};

async function play(script) {
  const { ai } = await loadSdk('ai-7');
  const stage = new Stage(ai, script);
  const steps = [];
  for (const step of script.steps) {
    await STEPS[step.do](stage, step);
    const { status, error, messages } = stage.chat(step.chat);
    steps.push({ do: step.do, status, error: error?.message ?? null, messages: copy(messages) });
  }
  stage.transport.close();
  return { steps, finishes: stage.finishes, errors: stage.errors, raw: stage.raw };
}

await serve(({ script }) => play(script));

// Talks to a real server with the packed package, as a user's program: node talk.mjs SERVER TOKEN
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { AbstractChat, generateId, safeValidateUIMessages } from 'ai';
import { deleteChat, FilmStore, listChats, listConversations, listVersions, loadSuggestions, pinChat, renameChat, restoreChat, sendFeedback, studio } from '@adk-prism/client';
import { loadMessages, loadVersion, PrismChatTransport, PrismError, sendWhenAnswered } from '@adk-prism/client/ai';
import { dataPartSchemas, messageMetadataSchema } from '@adk-prism/client/zod';

const [server, token] = process.argv.slice(2);
const signedIn = { server, app: 'tour', headers: async () => ({ authorization: `Bearer ${token}` }) };

class State {
  status = 'ready';
  error = undefined;
  constructor(messages) { this.messages = messages; }
  pushMessage = (message) => { this.messages = [...this.messages, message]; };
  popMessage = () => { this.messages = this.messages.slice(0, -1); };
  replaceMessage = (index, message) => { this.messages = this.messages.with(index, structuredClone(message)); };
  snapshot = (value) => structuredClone(value);
}

class Chat extends AbstractChat {
  constructor({ messages = [], ...init }) { super({ ...init, state: new State(messages) }); }
}

function open(options = {}, { id = `chat-${generateId()}`, messages, ...init } = {}) {
  const transport = new PrismChatTransport({ ...signedIn, ...options });
  return new Chat({ id, messages, transport, sendAutomaticallyWhen: sendWhenAnswered, dataPartSchemas, messageMetadataSchema, ...init });
}

const parts = (chat) => chat.messages.at(-1).parts;
const text = (chat) => parts(chat).flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
const call = (chat, name) => parts(chat).find(({ type }) => type === `tool-${name}`);
const until = async (isSo) => { while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20)); };
const settled = (chat) => until(() => chat.status === 'ready' || chat.status === 'error');

test('text, and the same after a reload', async () => {
  const chat = open();
  await chat.sendMessage({ text: 'text' });
  assert.equal(chat.error, undefined);
  assert.match(text(chat), /plain text/);
  const messages = await loadMessages(signedIn, chat.id);
  assert.deepEqual(messages.map(({ id }) => id), chat.messages.map(({ id }) => id));
  const { success, error } = await safeValidateUIMessages({ messages, dataSchemas: dataPartSchemas, metadataSchema: messageMetadataSchema });
  assert.ok(success, String(error));
  const listed = await listChats(signedIn);
  assert.ok(listed.some(({ id, title }) => id === chat.id && title === 'text'));
});

test('a conversation is named, pinned, deleted and restored; an answer is judged', async () => {
  const chat = open();
  await chat.sendMessage({ text: 'tool' });
  const { id, metadata } = chat.messages.at(-1);
  await sendFeedback(signedIn, { runId: metadata.runId, messageId: id, score: -1, comment: 'It rains.' });
  await assert.rejects(sendFeedback(signedIn, { runId: metadata.runId, score: 7 }), PrismError);
  const name = `Weather ${generateId()}`;
  await renameChat(signedIn, chat.id, name);
  await pinChat(signedIn, chat.id);
  const listed = () => listChats(signedIn, { text: name.toLowerCase() });
  assert.deepEqual((await listed()).map(({ id, title, pinned }) => [id, title, pinned]), [[chat.id, name, true]]);
  await deleteChat(signedIn, chat.id);
  assert.deepEqual(await listed(), []);
  await restoreChat(signedIn, chat.id);
  assert.equal((await listed()).length, 1);
});

test('after an answer comes what to say next, and the title of the conversation', async () => {
  const chat = open();
  await chat.sendMessage({ text: 'suggestions' });
  const { suggestions, messageId, title } = await loadSuggestions(signedIn, chat.id);
  assert.deepEqual([suggestions.length, messageId, title], [3, chat.messages.at(-1).id, 'A tour']);
  assert.equal((await listChats(signedIn)).find(({ id }) => id === chat.id).title, title);
  await chat.sendMessage({ text: suggestions[0] });
  assert.equal(await loadSuggestions(signedIn, chat.id), null);
});

test('an earlier answer is kept, looked at, and gone on from', async () => {
  const chat = open();
  await chat.sendMessage({ text: 'text' });
  assert.deepEqual(await listVersions(signedIn, chat.id), []);
  const first = chat.messages.at(-1).id;
  await chat.regenerate();
  const [group] = await listVersions(signedIn, chat.id);
  assert.deepEqual(group.map(({ messageId, current }) => [messageId, current]), [[first, false], [chat.messages.at(-1).id, true]]);
  chat.messages = await loadVersion(signedIn, chat.id, first);
  assert.equal(chat.messages.at(-1).id, first);
  await chat.sendMessage({ text: 'tool' });
  assert.equal(chat.error, undefined);
  assert.deepEqual((await loadMessages(signedIn, chat.id)).map(({ id }) => id), chat.messages.map(({ id }) => id));
  await assert.rejects(loadVersion(signedIn, chat.id, 'none'), PrismError);
});

test('a tool', async () => {
  const chat = open();
  await chat.sendMessage({ text: 'tool' });
  assert.equal(call(chat, 'get_weather').output.sky, 'sunny');
});

test('an approval and a tool of the page, in one message', async () => {
  const chat = open();
  await chat.sendMessage({ text: 'mixed batch' });
  await chat.addToolApprovalResponse({ id: call(chat, 'send_invoice').approval.id, approved: true });
  await chat.addToolOutput({ tool: 'get_location', toolCallId: call(chat, 'get_location').toolCallId, output: { city: 'Rome' } });
  await until(() => call(chat, 'send_invoice').state === 'output-available');
  await settled(chat);
  assert.equal(chat.error, undefined);
});

test('stop reaches the server', async () => {
  const chat = open({ app: 'diary' });
  const sent = chat.sendMessage({ text: `say [gate_${generateId()}] more` });
  await until(() => chat.status === 'streaming' && text(chat).includes('gate'));
  await chat.stop();
  await sent;
  const runs = async () => (await fetch(`${server}/api/runs?app=diary&session=${chat.id}`, { headers: await signedIn.headers() })).json();
  await until(async () => (await runs())[0].outcome !== null);
  assert.equal((await runs())[0].outcome, 'cancelled');
});

test('stop before the answer begins reaches the server, too', async () => {
  const { promise, resolve } = Promise.withResolvers();
  const late = async (url, init) => (await promise, fetch(url, init));
  const id = `chat-${generateId()}`;
  let isLate = true;
  const chat = open({ app: 'diary', fetch: (url, init) => (isLate ? late(url, init) : fetch(url, init)) }, { id });
  const sent = chat.sendMessage({ text: `say [gate_${generateId()}] more` });
  await until(() => chat.status === 'submitted');
  await chat.stop();
  await sent;
  assert.equal(chat.status, 'ready');
  isLate = false;
  resolve();
  const runs = async () => (await fetch(`${server}/api/runs?app=diary&session=${id}`, { headers: await signedIn.headers() })).json();
  await until(async () => ((await runs())[0]?.outcome ?? null) !== null);
  assert.equal((await runs())[0].outcome, 'cancelled');
});

test('a cut connection is gone on with', async () => {
  const states = [];
  const chat = open({ fetch: cutOnce(900), onConnection: (state) => states.push(state) });
  await chat.sendMessage({ text: 'tool' });
  assert.equal(chat.error, undefined);
  assert.match(text(chat), /sunny in Lisbon/);
  assert.deepEqual(states, ['reconnecting', 'connected']);
});

/** A fetch whose first stream breaks off after so many bytes. */
function cutOnce(most) {
  let isCut = false;
  return async (url, init) => {
    const response = await fetch(url, init);
    if (isCut || !response.headers.get('content-type')?.startsWith('text/event-stream')) return response;
    isCut = true;
    let seen = 0;
    const cut = new TransformStream({
      transform(piece, controller) {
        controller.enqueue(piece.subarray(0, Math.max(0, most - seen)));
        seen += piece.length;
        if (seen > most) controller.error(new TypeError('network error'));
      },
    });
    return new Response(response.body.pipeThrough(cut), { status: response.status, headers: response.headers });
  };
}

const ERRORS = {
  'an unknown app': [{ app: 'nowhere' }, 404, /There is no app 'nowhere'/],
  'a wrong address': [{ server: `${server}/elsewhere` }, 404, /is it the address of an adk-prism server\?/],
  'nobody is signed in': [{ headers: {} }, 401, /./],
  'nobody answers': [{ server: 'http://127.0.0.1:9' }, undefined, /cannot be reached/],
};
for (const [name, [options, status, message]] of Object.entries(ERRORS)) {
  test(`an error that can be read: ${name}`, async () => {
    const chat = open(options);
    await chat.sendMessage({ text: 'text' });
    assert.equal(chat.status, 'error');
    assert.match(chat.error.message, message);
    assert.equal(chat.error.status, status);
    assert.equal(chat.error instanceof PrismError, status !== undefined);
  });
}

test('an error that can be read: a development server answers with its page', async () => {
  const page = createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html>'));
  await new Promise((resolve) => page.listen(0, '127.0.0.1', resolve));
  const wrong = { ...signedIn, server: `http://127.0.0.1:${page.address().port}` };
  await assert.rejects(loadMessages(wrong, 'chat'), /answered with text\/html, not with JSON/);
  const chat = open(wrong);
  await chat.sendMessage({ text: 'text' });
  assert.match(chat.error.message, /answered with text\/html, not with a stream/);
  page.close();
});

test('errors that can be read: busy, and too much at once', async () => {
  const chat = open({ app: 'diary' });
  const sent = chat.sendMessage({ text: `say [gate_${generateId()}] more` });
  await until(() => chat.status === 'streaming' && text(chat).includes('gate'));
  const second = open({ app: 'diary' }, { id: chat.id, messages: chat.messages.slice(0, 1) });
  await second.sendMessage({ text: 'hello' });
  assert.equal(second.error.status, 409, second.error.message);
  const other = open({ app: 'diary' });
  await other.sendMessage({ text: 'hello' });
  assert.equal(other.error.status, 429, other.error.message);
  assert.ok(other.error.retryAfter > 0);
  for (const { error } of [second, other]) assert.match(error.message, /^[A-Z].*\.$/);
  await chat.stop();
  await sent;
  // It counts until the server has ended it.
  await until(async () => (await listConversations(signedIn, { limit: 100 })).every(({ outcome }) => outcome !== null));
});

test('the film of a run, and a Studio trace', async () => {
  const client = new studio.StudioClient(`${server}/api/studio/tour`, { headers: await signedIn.headers() });
  const { text: said, runId, status } = await client.send('tool');
  assert.equal(status, 'done');
  assert.match(said, /sunny/);
  const store = new FilmStore(signedIn, runId);
  const leave = store.subscribe(() => {});
  await until(() => !store.getState().isLive);
  leave();
  assert.equal(store.getState().error, null);
  assert.equal(store.getState().film.ended.outcome, 'finished');
});

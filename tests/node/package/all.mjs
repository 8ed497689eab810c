// The entry points that need more than the AI SDK, against a real server: node all.mjs SERVER TOKEN
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PrismAgent } from '@adk-prism/client/ag-ui';
import { prismHistory, prismThreadList } from '@adk-prism/client/assistant-ui';
import { Live } from '@adk-prism/client/live';

const [server, token] = process.argv.slice(2);
const authorization = `Bearer ${token}`;
const signedIn = { server, app: 'tour', headers: async () => ({ authorization }) };
const until = async (isSo) => { while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 20)); };

test('an AG-UI agent reconnects inside a run, and another one opens its thread', async () => {
  const states = [];
  const agent = new PrismAgent({ ...signedIn, threadId: 'thread-1', fetch: cutOnce(1500), onConnection: (state) => states.push(state) });
  agent.addMessage({ id: 'm1', role: 'user', content: 'tool' });
  await agent.runAgent();
  assert.deepEqual(states, ['reconnecting', 'connected']);
  assert.match(agent.messages.at(-1).content, /sunny in Lisbon/);
  const other = new PrismAgent({ ...signedIn, threadId: 'thread-1' });
  await other.connectAgent();
  assert.deepEqual(other.messages.map(({ id }) => id), agent.messages.map(({ id }) => id));
  assert.equal(agent.clone().threadId, 'thread-1');
});

test('abortRun stops an AG-UI run on the server', async () => {
  const agent = new PrismAgent({ ...signedIn, app: 'diary', threadId: 'thread-2' });
  agent.addMessage({ id: 'm1', role: 'user', content: 'say [gate_agui] more' });
  const running = agent.runAgent({}, { onTextMessageContentEvent: ({ event }) => void (event.delta.includes('gate') && agent.abortRun()) });
  await running.catch(() => {});
  const runs = async () => (await fetch(`${server}/api/runs?app=diary&session=thread-2`, { headers: { authorization } })).json();
  await until(async () => (await runs())[0].outcome !== null);
  assert.equal((await runs())[0].outcome, 'cancelled');
});

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

test('assistant-ui lists the threads and loads one', async () => {
  const adapter = prismThreadList(signedIn);
  const { threads } = await adapter.list();
  const found = threads.find(({ remoteId }) => remoteId === 'thread-1');
  assert.equal(found.title, 'tool');
  assert.deepEqual(await adapter.fetch('thread-1'), found);
  assert.deepEqual(await adapter.initialize('new'), { remoteId: 'new' });
  await assert.rejects(adapter.archive('thread-1'), /no archive/);
  const format = { format: 'ai-sdk/v6', getId: ({ id }) => id, encode: ({ message }) => message, decode: ({ id, parent_id, content }) => ({ parentId: parent_id, message: { id, ...content } }) };
  const { headId, messages } = await prismHistory(signedIn, () => 'thread-1').withFormat(format).load();
  assert.equal(messages.length, 2);
  assert.equal(messages[1].parentId, messages[0].message.id);
  assert.equal(headId, messages[1].message.id);
});

test('a live conversation, typed', async () => {
  const live = new Live({ ...signedIn, chatId: 'live-1' });
  live.start();
  await until(() => live.getState().connection.kind === 'open');
  assert.equal(live.say('text'), true);
  await until(() => live.getState().messages.length === 2 && !live.getState().isBusy);
  const [asked, answered] = live.getState().messages;
  assert.equal(asked.parts[0].text, 'text');
  assert.equal(answered.role, 'assistant');
  assert.ok(answered.parts.some((part) => part.type === 'text' && part.text.length > 0));
  assert.equal(live.getState().mic.kind, 'none');
  await live.end();
  assert.equal(live.isOver, true);
});

// Voice in the chat: a real Chromium whose microphone is a file, the real server, and a model that proves what it heard.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { SERVER, afterTest, chat, checkAccess, close, launch, loadCode, newChat, open, say, until } from './browser.mjs';
import { proxy } from './proxy.mjs';

const HEARD_RATE = 16_000;

let folder;
let browser;
let page;
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'prism-voice-'));
  const file = path.join(folder, 'tone.wav');
  await writeFile(file, wav());
  browser = await launch({ hears: file });
  page = await talkative(browser);
});
afterEach((t) => afterTest(t, page));
after(async () => {
  await browser.close();
  await rm(folder, { recursive: true });
});

/** A second of 440 Hz and a second of silence, which the browser repeats. */
function wav() {
  const data = Buffer.alloc(2 * 2 * HEARD_RATE);
  for (let i = 0; i < HEARD_RATE; i++) data.writeInt16LE(Math.round(12_000 * Math.sin((2 * Math.PI * 440 * i) / HEARD_RATE)), 2 * i);
  const head = Buffer.alloc(44);
  head.write('RIFF');
  head.writeUInt32LE(36 + data.length, 4);
  head.write('WAVEfmt ', 8);
  for (const [at, size, value] of [[16, 4, 16], [20, 2, 1], [22, 2, 1], [24, 4, HEARD_RATE], [28, 4, 2 * HEARD_RATE], [32, 2, 2], [34, 2, 16]]) head.writeUIntLE(value, at, size);
  head.write('data', 36);
  head.writeUInt32LE(data.length, 40);
  return Buffer.concat([head, data]);
}

/** Open a page that notes the sound it sends, and lets a test listen to what it plays. */
async function talkative(where, { address = '', ...options } = {}) {
  return open(where, address, { width: 1280, permissions: ['geolocation'], geolocation: { latitude: 38.7223, longitude: -9.1393 }, init: listen, ...options });
}

function listen() {
  globalThis.sent = [];
  globalThis.told = [];
  const { send } = WebSocket.prototype;
  WebSocket.prototype.send = function (data) {
    if (data instanceof ArrayBuffer) globalThis.sent.push(data.slice(0));
    else globalThis.told.push(JSON.parse(data).type);
    return send.call(this, data);
  };
  const { connect } = AudioNode.prototype;
  AudioNode.prototype.connect = function (to, ...rest) {
    if (to === this.context.destination) {
      globalThis.played = new AnalyserNode(this.context, { fftSize: 2048, smoothingTimeConstant: 0 });
      connect.call(this, globalThis.played);
    }
    return connect.call(this, to, ...rest);
  };
}

/** Return the pitch of what the page plays right now; 0 for silence. */
const pitch = () =>
  page.evaluate(() => {
    const { played } = globalThis;
    const bins = new Float32Array(played.frequencyBinCount);
    played.getFloatFrequencyData(bins);
    const loudest = bins.indexOf(Math.max(...bins));
    return bins[loudest] > -60 ? (loudest * played.context.sampleRate) / played.fftSize : 0;
  });

const voice = () => page.getByRole('region', { name: 'Voice' });
const stands = (words) => voice().locator('strong', { hasText: words }).waitFor();
const lastAnswer = () => page.locator('.message[data-role="assistant"]').last();
const cut = () => lastAnswer().locator('[data-part="data-interrupted"]');
const count = (type) => page.evaluate((wanted) => globalThis.told.filter((one) => one === wanted).length, type);
/** Words that nobody hears to their end: they take minutes. */
const SPEECH = 'speech 10000';

/** Let the agent speak; return when it is this speech that is heard, and not an earlier one. */
async function listenTo(text = SPEECH) {
  await say(page, text);
  await lastAnswer().getByText('word1').waitFor();
  await stands('Speaking');
  await until(async () => (await pitch()) > 200, 'nothing is played');
}

async function talk(app = 'ear') {
  await newChat(page, app);
  await page.getByRole('button', { name: 'Talk', exact: true }).click();
  await voice().locator('strong').filter({ hasText: /^(Ready|Listening)$/ }).waitFor();
}

async function end() {
  await voice().getByRole('button', { name: 'End' }).click();
  await voice().waitFor({ state: 'detached' });
}

/** Hold Space until that many pieces of sound have been sent. */
async function speak(pieces = 60) {
  await page.locator('.log').focus();
  const before = await page.evaluate(() => globalThis.sent.length);
  await page.keyboard.down('Space');
  await stands('Listening');
  await until(async () => (await page.evaluate(() => globalThis.sent.length)) >= before + pieces, 'the microphone is silent');
  await page.keyboard.up('Space');
}

test('what the microphone hears arrives at the model, byte by byte, and is captioned', async () => {
  await talk();
  await checkAccess(page);
  await page.evaluate(() => (globalThis.sent.length = 0));
  await speak();
  await page.locator('.message[data-role="user"]').getByText(/voice: [\d.]+ seconds of sound near \d+ Hz/).waitFor();
  await lastAnswer().getByText('You said: voice').waitFor();
  await page.getByRole('button', { name: 'Load' }).click();
  await page.locator('.message audio').waitFor(); // Also while the run goes on.
  await say(page, 'digest');
  const told = page.getByText(/\d+ bytes, sha256 [0-9a-f]{64}\./);
  await told.waitFor();
  const { bytes, sha256, loud } = await page.evaluate(async () => {
    const whole = new Uint8Array(await new Blob(globalThis.sent).arrayBuffer());
    const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', whole));
    return { bytes: whole.length, sha256: hash.toHex?.() ?? [...hash].map((byte) => byte.toString(16).padStart(2, '0')).join(''), loud: new Int16Array(whole.buffer).some((sample) => sample > 3000) };
  });
  assert.ok(loud, 'the sound is silence');
  assert.equal(await told.innerText(), `${bytes} bytes, sha256 ${sha256}.`);
});

test('the agent is heard, and what was said is kept when the voice ends', async () => {
  await listenTo();
  await page.keyboard.press('Escape');
  await cut().waitFor();
  await until(async () => (await pitch()) === 0, 'it goes on playing');
  const ids = () => page.locator('.message').evaluateAll((all) => all.map((one) => one.dataset.message));
  const said = await ids();
  await end();
  await page.getByRole('button', { name: 'Regenerate' }).first().waitFor();
  assert.deepEqual(await ids(), said);
  await say(page, 'and in writing');
  await lastAnswer().getByText('You said: and in writing').waitFor();
  await page.reload();
  await lastAnswer().getByText('You said: and in writing').waitFor();
  assert.deepEqual((await ids()).slice(0, said.length), said);
});

test('a run by voice is looked at with what was said, where it was cut, and is one turn of the trace', async () => {
  await talk();
  await speak();
  await lastAnswer().getByText('You said: voice').waitFor();
  await listenTo();
  await page.keyboard.press('Escape');
  await cut().waitFor();
  await say(page, 'thank you');
  await lastAnswer().getByText('You said: thank you').waitFor();
  await end();
  const told = () =>
    page.locator('.message').evaluateAll((all) => all.map(({ dataset, innerText }) => `${dataset.role} ${/voice|speech|thank|Interrupted/.exec(innerText)} ${/Interrupted/.exec(innerText)}`));
  const live = await told();
  await page.locator('[data-row="turn"]').first().waitFor();
  assert.equal(await page.locator('[data-row="turn"]').count(), 1);
  const [{ run }] = await (await fetch(`${SERVER}/api/runs?app=ear&limit=1`)).json();
  await page.goto(`${SERVER}/#/run/${run}`);
  await until(async () => JSON.stringify(await told()) === JSON.stringify(live), 'the run tells something else').catch(async () => assert.deepEqual(await told(), live));
  // What was heard is there, too: of each answer its own.
  const answers = await page.locator('.message[data-role="assistant"]').all();
  assert.ok(answers.length > 1);
  for (const answer of answers) {
    await answer.getByRole('button', { name: 'Load' }).click();
    const audio = answer.getByLabel('Audio of this message');
    await until(() => audio.evaluate(({ duration }) => duration > 0), 'an answer has no sound');
  }
  await page.goto(`${SERVER}/#/`);
});

test('whoever speaks up is listened to: holding the button silences the agent', async () => {
  await talk();
  await listenTo();
  await voice().getByRole('button', { name: 'Hold to talk' }).hover();
  await page.mouse.down();
  await stands('Listening');
  await until(async () => (await pitch()) === 0, 'it goes on playing');
  await cut().waitFor();
  await page.mouse.up();
  await lastAnswer().getByText('You said: voice').waitFor();
});

/** Where the focus may be when somebody presses Escape, and how it comes there. */
const PLACES = {
  'the log': () => page.locator('.log').focus(),
  'the message that is being typed': () => page.getByRole('textbox', { name: 'Message' }).focus(),
  'the voice itself': () => voice().focus(),
  'a list of choices': () => voice().getByRole('combobox', { name: 'Microphone mode' }).focus(),
  'the button that is held': () => voice().getByRole('button', { name: 'Hold to talk' }).focus(),
  'the button of the same name': () => voice().getByRole('button', { name: 'Interrupt' }).focus(),
  'nothing at all': () => page.evaluate(() => document.activeElement.blur()),
  'a button that was taken away': () => focusOnOne((button) => button.remove()),
  'a button that was switched off': () => focusOnOne((button) => (button.disabled = true)),
};

/** Put the focus on a button in the log, and then do something with the button. */
async function focusOnOne(act) {
  await page.evaluate(() => {
    const button = document.createElement('button');
    document.querySelector('.log').append(button);
    button.focus();
    globalThis.button = button;
  });
  await page.evaluate(`(${act})(globalThis.button)`);
}

for (const [place, focus] of Object.entries(PLACES)) {
  test(`Escape cuts the agent off when the focus is on ${place}`, async (t) => {
    await listenTo();
    t.after(() => page.evaluate(() => globalThis.button?.remove()));
    await focus();
    await page.keyboard.press('Escape');
    await cut().waitFor();
    await stands('Ready');
    await until(async () => (await pitch()) === 0, 'it goes on playing');
  });
}

test('Escape before the first word is heard too, also of an answer to what was said while it spoke', async () => {
  await listenTo();
  await say(page, 'ponder'); // Cuts the speech off, and is not answered.
  await cut().waitFor();
  await stands('Working…');
  const before = await count('interrupt');
  await page.keyboard.press('Escape');
  await stands('Ready');
  assert.equal(await count('interrupt'), before + 1);
  await say(page, 'still there?');
  await lastAnswer().getByText('You said: still there?').waitFor();
  await stands('Ready');
});

test('one call is approved and another denied, while it speaks', async () => {
  await say(page, 'pay twice');
  await stands('Speaking, and waiting for you');
  await checkAccess(page);
  await page.getByRole('button', { name: 'Approve' }).first().click();
  await page.getByRole('button', { name: 'Deny…' }).last().click();
  await page.getByRole('textbox', { name: 'Reason for denying' }).fill('too much');
  await page.keyboard.press('Enter');
  await page.locator('.tool[data-state="output-available"]').waitFor();
  await page.locator('.tool[data-state="output-denied"]').waitFor();
  await lastAnswer().getByText("pay {'paid': 1}").waitFor();
  await lastAnswer().getByText('too much').first().waitFor();
});

test('a tool of this device is answered', async () => {
  await say(page, 'place');
  await page.getByRole('button', { name: 'Share this device’s location' }).click();
  await lastAnswer().getByText("get_location {'latitude': 38.72").waitFor();
  await end();
});

test('an open microphone finds by itself where speech ends', async () => {
  await talk();
  await voice().getByRole('combobox', { name: 'Microphone mode' }).selectOption('open');
  await stands('Listening');
  await lastAnswer().getByText('You said: voice').waitFor();
  await voice().getByRole('button', { name: 'Mute', exact: true }).click();
  await voice().getByRole('button', { name: 'Unmute' }).waitFor();
  const pieces = await page.evaluate(() => globalThis.sent.length);
  await say(page, 'quiet now');
  await lastAnswer().getByText('You said: quiet now').waitFor();
  assert.equal(await page.evaluate(() => globalThis.sent.length), pieces, 'muted, it is still heard');
  await voice().getByRole('combobox', { name: 'Microphone mode' }).selectOption('hold');
  await stands('Ready');
  await end();
});

/** Do something on another page in the place of the usual one. */
async function elsewhere(where, options, act) {
  const usual = page;
  page = await talkative(where, options);
  try {
    await act();
  } finally {
    await page.context().close();
    const { troubles } = page;
    page = usual;
    assert.deepEqual(troubles, []);
  }
}

const runsOf = async (session) => (await fetch(`${SERVER}/api/runs?${new URLSearchParams({ app: 'ear', user: 'user', session })}`)).json();

test('a lost line is taken up again, the same run goes on, and it ends with its page', async (t) => {
  const between = await proxy(SERVER);
  t.after(() => between.close());
  await elsewhere(browser, { url: between.url, allow: [/WebSocket|ERR_|Failed to load/] }, async () => {
    await loadCode(page);
    await talk();
    await say(page, 'speech 200');
    await lastAnswer().getByText('word1').waitFor();
    between.leave();
    await stands('Connection lost. Reconnecting…');
    await checkAccess(page);
    between.comeBack();
    await chat(page).getByText('word199').waitFor();
    assert.equal(await chat(page).getByText('word199').count(), 1);
    between.leave();
    await stands('Connection lost. Reconnecting…');
    await say(page, 'while you were away');
    between.comeBack();
    await lastAnswer().getByText('You said: while you were away').waitFor();
    const session = new URL(page.url()).hash.split(/[/?]/)[3];
    assert.equal((await runsOf(session)).length, 1);
    await page.goto('about:blank');
    await until(async () => (await runsOf(session))[0].outcome === 'finished', 'the run goes on without its page');
  });
});

test('Escape while the line is lost is heard when it is back', async (t) => {
  const between = await proxy(SERVER);
  t.after(() => between.close());
  await elsewhere(browser, { url: between.url, allow: [/WebSocket|ERR_|Failed to load/] }, async () => {
    await loadCode(page);
    await talk();
    await listenTo();
    between.leave();
    await stands('Connection lost. Reconnecting…');
    await page.keyboard.press('Escape');
    between.comeBack();
    await cut().waitFor();
    await stands('Ready');
  });
});

test('where the server wants to know who it is, the line is opened with a ticket', async () => {
  const signIn = (url) => sessionStorage.setItem(`prism:token:${url}/`, 'token-of-ann');
  await elsewhere(browser, { url: process.env.PRISM_ASKING_URL, init: `(${signIn})(${JSON.stringify(process.env.PRISM_ASKING_URL)})` }, async () => {
    const opened = page.waitForEvent('websocket');
    await talk('tour');
    assert.ok(new URL((await opened).url()).searchParams.get('ticket'));
    await say(page, 'tool');
    await page.locator('.log .tool[data-state="output-available"]').waitFor();
  });
});

test('two windows: the second takes the line, and the first is told', async () => {
  await talk();
  await say(page, 'hello');
  await lastAnswer().getByText('You said: hello').waitFor();
  const second = await talkative(browser, { address: new URL(page.url()).hash });
  await second.getByRole('button', { name: 'Talk', exact: true }).click();
  await second.getByText('Ready').first().waitFor();
  await say(second, 'me too');
  await chat(second).getByText('You said: me too').waitFor();
  await stands('continues in another window');
  await voice().getByRole('button', { name: 'Close' }).click();
  await close(second);
});

test('the page of one’s own in the guide talks', async (t) => {
  const guide = await readFile(path.join(import.meta.dirname, '..', '..', 'docs', 'guides', 'live.md'), 'utf-8');
  const [, html, worklet] = guide.match(/```html\n(.*?)```.*?```js\n(.*?)```/s);
  const served = await proxy(SERVER, '', { '/own/': ['text/html', html.replace('/live/tour', '/live/ear')], '/own/microphone.js': ['text/javascript', worklet] });
  t.after(() => served.close());
  await elsewhere(browser, { url: served.url, address: 'own/' }, async () => {
    await page.getByRole('button', { name: 'Talk' }).click();
    await page.getByText('You said: voice').waitFor();
    await page.getByRole('button', { name: 'Interrupt' }).click();
    await until(() => page.evaluate(() => globalThis.told.includes('interrupt')), 'the server is not told');
  });
});

test('an app without a live model has no microphone', async () => {
  await newChat(page, 'mute');
  await page.getByRole('button', { name: 'Send', exact: true }).waitFor();
  assert.equal(await page.getByRole('button', { name: /^Talk/ }).count(), 0);
});

test('without a microphone it is said why, and typing goes on', async (t) => {
  const refusing = await launch({ hears: null });
  t.after(() => refusing.close());
  await elsewhere(refusing, { width: 390, height: 844, dark: true }, async () => {
    await newChat(page, 'ear');
    await page.getByRole('button', { name: 'Talk', exact: true }).click();
    await voice().getByText('Microphone access was denied.').waitFor();
    await checkAccess(page);
    await say(page, 'then in writing');
    await lastAnswer().getByText('You said: then in writing').waitFor();
    await end();
  });
});

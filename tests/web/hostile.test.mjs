// Attacks through everything that the page shows, live, uploaded and shared: nothing runs, nothing is fetched from
// elsewhere, nothing is broken. The payloads are in `payloads.json`.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { launch, newChat, openPanel, PATIENCE, say, settled } from './browser.mjs';
import { CAPTURE, MONSTERS, MONSTROUS, PAYLOADS } from './hostile.mjs';
import { proxy } from './proxy.mjs';

/** Moments of a run that are looked at. */
const STOPS = 4;
/** Nodes whose details are opened. */
const NODES = 6;
const PANELS = ['Graph', 'State', 'Proof', 'Grounding', 'Artifacts', 'Event'];

let browser;
let between;
let folder;
before(async () => {
  browser = await launch();
  between = await proxy(process.env.PRISM_ODD_URL, '/prism');
  DIAGRAMS = `${between.url}/assets/diagram-frame-`;
  folder = await mkdtemp(path.join(tmpdir(), 'prism-hostile-'));
  for (let at = 0; at < PAYLOADS.length; at += TITLED) await upload(titled(PAYLOADS.slice(at, at + TITLED).join(' '), at));
});
after(async () => {
  await browser.close();
  between.close();
  await rm(folder, { recursive: true });
});

/** Payloads in one title, which is cut: the lists of home show some forty. */
const TITLED = 3;
const titled = (text, at) => JSON.stringify({ id: `e${at}`, invocationId: `i${at}`, author: 'user', timestamp: 1_750_000_000 + at, content: { role: 'user', parts: [{ text }] } });

async function upload(body) {
  const answer = await fetch(`${between.url}/api/recordings`, { method: 'POST', body, headers: { 'content-type': 'application/jsonl' } });
  const { run } = await answer.json();
  assert.ok(run, 'the capture was taken');
  return run;
}

/** Where the document that draws diagrams is. It may be in a frame, which has to be sandboxed without an origin. */
let DIAGRAMS;

async function drawsDiagrams(frame) {
  const element = await frame.frameElement();
  return element.evaluate((shown, place) => shown.src.startsWith(place) && shown.getAttribute('sandbox') === 'allow-scripts', DIAGRAMS);
}

/** Open an address with ears everywhere: whatever an attack could bring about is noted. */
async function listen(address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, reducedMotion: 'reduce', acceptDownloads: true, ...options });
  const page = await context.newPage();
  const noted = [];
  await context.route(
    (url) => /^(https?|ftp|wss?):/.test(url.protocol) && !url.href.startsWith(between.url),
    (route) => (noted.push(`asked for ${route.request().url()}`), route.abort()),
  );
  await page.addInitScript(() => {
    globalThis.violations = [];
    addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => globalThis.violations.push(`${violatedDirective} ${blockedURI}`));
    globalThis.prototypes = () => [Object, Array, String, Function].flatMap(({ name, prototype }) => Object.getOwnPropertyNames(prototype).map((own) => `${name}.${own}`));
    globalThis.unspoilt = new Set(globalThis.prototypes());
  });
  context.on('page', (other) => noted.push(`opened ${other.url()}`));
  page.on('dialog', (dialog) => (noted.push(`said ${dialog.message()}`), dialog.dismiss()));
  page.on('pageerror', (error) => noted.push(`threw ${error.stack}`));
  page.on('framenavigated', (frame) => frame.url().split('#')[0] !== address.split('#')[0] && !frame.url().startsWith(DIAGRAMS) && noted.push(`went to ${frame.url()}`));
  page.on('frameattached', (frame) => drawsDiagrams(frame).then((does) => does || noted.push('made a frame')));
  page.noted = noted;
  page.setDefaultTimeout(PATIENCE);
  await page.goto(address);
  return page;
}

/** Fail if anything came of an attack; unfold what is folded first. */
async function unharmed(page, where) {
  const found = await page.evaluate(async () => {
    for (const fold of document.querySelectorAll('details:not([open])')) fold.open = true;
    await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
    const all = [...document.querySelectorAll('#root *, body > :not(script)')];
    const isFine = (link) => ['http:', 'https:', 'mailto:', 'blob:', 'data:', 'file:'].includes(link.protocol) && (link.protocol !== 'data:' || link.hasAttribute('download')) && (link.protocol !== 'file:' || link.href.split('#')[0] === location.href.split('#')[0]);
    return {
      ran: globalThis.ran,
      polluted: {}.polluted,
      spoilt: globalThis.prototypes().filter((name) => !globalThis.unspoilt.has(name)),
      violations: globalThis.violations,
      elements: all.filter((element) => element.matches('script, iframe:not([sandbox="allow-scripts"][src*="/assets/diagram-frame-"]), frame, object, embed, base, meta, link, style, form[action], math, foreignObject, animate, template, marquee, [srcdoc]')).map(({ outerHTML }) => outerHTML.slice(0, 100)),
      handlers: all.filter((element) => element.getAttributeNames().some((name) => name.startsWith('on'))).map(({ outerHTML }) => outerHTML.slice(0, 100)),
      links: all.filter((element) => element.matches('a[href]') && !isFine(element)).map(({ href }) => href.slice(0, 100)),
      fetched: all.filter((element) => element.matches('img, audio, video, source') && element.src && !/^(data|blob):/.test(element.src) && new URL(element.src).origin !== location.origin).map(({ src }) => src),
      styles: all.filter((element) => /url\(|expression|import/.test(element.getAttribute('style') ?? '')).length,
      wide: Math.max(0, document.documentElement.scrollWidth - innerWidth),
      bar: document.querySelector('.topbar')?.getBoundingClientRect().top,
    };
  });
  assert.deepEqual({ ...found, noted: page.noted }, { ran: undefined, polluted: undefined, spoilt: [], violations: [], elements: [], handlers: [], links: [], fetched: [], styles: 0, wide: 0, bar: 0, noted: [] }, where);
}

/** Open the details of the nodes that are drawn. */
async function everyNode(page) {
  const vertices = page.locator('.vertex[data-node="agent"], .vertex[data-node="tool"]');
  for (let index = 0; index < Math.min(NODES, await vertices.count()); index += 1) {
    await vertices.nth(index).dispatchEvent('click');
    await page.locator('.node-details').waitFor();
    await unharmed(page, `node ${index}`);
    await page.getByRole('button', { name: 'Close the details' }).click();
  }
}

/** Look at every panel of a run, at its end and on the way. */
async function walk(page) {
  const slider = page.getByRole('slider', { name: 'Playhead' });
  await slider.waitFor();
  await unharmed(page, 'the conversation');
  for (const name of PANELS) {
    await openPanel(page, name);
    await unharmed(page, name);
    if (name === 'Graph') await everyNode(page);
  }
  await openPanel(page, 'Trace');
  const steps = page.getByRole('treeitem');
  for (let index = 0; index < Math.min(STOPS, await steps.count()); index++) {
    await steps.nth(index).click();
    await unharmed(page, `step ${index}`);
  }
  await openPanel(page, 'Event');
  const last = Number(await slider.getAttribute('max'));
  for (let at = 2; at < last; at += Math.ceil(last / STOPS)) {
    await slider.fill(String(at));
    await page.locator('section.panel[aria-label="Event"]').getByText(/what it means|not available/).first().waitFor();
    await unharmed(page, `event ${at}`);
  }
}

test('home, the rail and the addresses', async () => {
  const page = await listen(`${between.url}/`);
  await page.locator('.card', { hasText: 'hostile' }).waitFor();
  await page.locator('.rail-list a').first().waitFor();
  await unharmed(page, 'home');
  for (const name of [PAYLOADS[0], PAYLOADS[3]]) {
    await page.locator('input[type=file]').setInputFiles({ name, mimeType: 'text/html', buffer: Buffer.from(name) });
    await page.getByText('Could not open').waitFor();
    await unharmed(page, 'an upload');
  }
  for (const odd of PAYLOADS.slice(0, 4).map(encodeURIComponent)) {
    for (const place of [`run/${odd}`, `app/hostile/${odd}`, `app/${odd}/x`]) {
      await page.evaluate((hash) => (location.hash = hash), `#/${place}?panel=${odd}&sel=${odd}&user=${odd}&__proto__=${odd}&constructor=${odd}`);
      await page.getByRole('alert').or(page.getByText('New chat with')).first().waitFor();
    }
    await unharmed(page, odd);
  }
  await page.context().close();
});

test('a live agent, its files, and what can be taken away', async () => {
  const page = await listen(`${between.url}/`, { permissions: ['clipboard-read', 'clipboard-write'] });
  await page.locator('.card').first().waitFor();
  await newChat(page, 'hostile');
  await unharmed(page, 'a new chat');
  await say(page, 'everything');
  await settled(page);
  await walk(page);
  await page.getByRole('button', { name: 'Share' }).click();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Conversation (JSON)' }).click()]);
  const messages = JSON.parse(await readFile(await download.path(), 'utf-8'));
  assert.equal(messages.length, 2);
  await page.getByRole('button', { name: 'Share' }).click();
  await page.getByRole('button', { name: 'Copy the conversation as Markdown' }).click();
  const written = await page.evaluate(() => navigator.clipboard.readText());
  assert.doesNotMatch(written.split('\n').filter((line) => line.startsWith('- [')).join('\n'), /\]\((?!https?:)/, 'an exported source leads to no script');
  await unharmed(page, 'what was taken away');
  await checkFiles(page, messages.at(-1).metadata.runId);
  await page.context().close();
});

/** Open every file of a run by its own address: it is saved or shown, and runs nothing. */
async function checkFiles(page, run) {
  const recording = await (await fetch(`${between.url}/api/runs/${run}/recording`)).text();
  const lines = recording.split('\n').filter((line) => line.includes('inlineData')).map((line) => JSON.parse(line));
  assert.ok(lines.length >= 6, 'the agent gave files');
  const saved = [];
  for (const { cursor } of lines) {
    const file = `${between.url}/api/runs/${run}/files/${cursor}/0`;
    const { status, headers } = await fetch(file);
    assert.equal(status, 200);
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.match(headers.get('content-security-policy'), /sandbox/);
    if (/svg|html|octet|xml/.test(headers.get('content-type'))) assert.match(headers.get('content-disposition'), /^attachment/);
    const opened = await browser.newPage();
    opened.on('download', () => saved.push(file));
    await opened.goto(file).catch(() => undefined); // A download is no navigation.
    assert.equal(await opened.evaluate(() => globalThis.ran), undefined);
    await opened.close();
  }
  assert.ok(saved.length >= 3, 'what a browser could run is saved instead');
}

test('a capture from elsewhere, and its shared file from a disk', async () => {
  const run = await upload(CAPTURE);
  const page = await listen(`${between.url}/#/run/${run}`);
  await walk(page);
  await page.context().close();
  const file = path.join(folder, 'hostile.html');
  await writeFile(file, Buffer.from(await (await fetch(`${between.url}/api/runs/${run}/share`)).arrayBuffer()));
  const shared = await listen(pathToFileURL(file).href, { offline: true });
  await walk(shared);
  await shared.context().close();
});

test('Markdown that no parser survives: the answer is shown, and the next message can be sent', async () => {
  const page = await listen(`${between.url}/`);
  await page.locator('.card').first().waitFor();
  await newChat(page, 'hostile');
  for (const [at, text] of MONSTERS.entries()) {
    await say(page, `${text}\n\nend ${at}`);
    await page.locator('.message[data-role="assistant"]').nth(at).getByText(`end ${at}`).waitFor();
    await settled(page);
  }
  await say(page, 'still here');
  await page.locator('.message[data-role="assistant"]').getByText('still here').waitFor();
  await unharmed(page, 'a chat of monsters');
  await page.reload();
  await page.locator('.message[data-role="assistant"]').getByText('still here').waitFor();
  await unharmed(page, 'the same, loaded again');
  await page.context().close();
});

test('the same in a recording, and in its shared file from a disk', async () => {
  const run = await upload(MONSTROUS);
  const file = path.join(folder, 'monsters.html');
  await writeFile(file, Buffer.from(await (await fetch(`${between.url}/api/runs/${run}/share`)).arrayBuffer()));
  for (const [address, options] of [[`${between.url}/#/run/${run}`, {}], [pathToFileURL(file).href, { offline: true }]]) {
    const page = await listen(address, options);
    await page.getByRole('log').getByText(`end ${MONSTERS.length - 1}`).waitFor();
    await page.getByRole('log').getByText('end 0').waitFor();
    const slider = page.getByRole('slider', { name: 'Playhead' });
    await slider.fill('3');
    await page.getByText(/^Step \d+ of \d+ · /).waitFor();
    await unharmed(page, address);
    await page.context().close();
  }
});

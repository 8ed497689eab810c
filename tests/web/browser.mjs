// A real Chromium for the tests of the page, and the rules that every page keeps: nothing thrown, no error in the
// console, no request to any other origin, no breach of the policy.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

// The packages lie beside the other npm packages of the tests.
const require = createRequire(path.join(import.meta.dirname, '..', 'node', 'package.json'));
const { chromium } = require('playwright-core');
const { default: packed } = await import(require.resolve('@sparticuz/chromium'));
const AXE = require.resolve('axe-core/axe.min.js');

const CODE = path.join(import.meta.dirname, '..', '..', 'src', 'adk_prism', 'web', 'dist', 'assets');
const FOLDER = path.join(import.meta.dirname, '..', 'node', 'node_modules', '.browser');

export const SERVER = process.env.PRISM_URL;
assert.ok(SERVER, 'PRISM_URL names no server: run these tests through pytest');

/** Milliseconds that anything may take before a test gives up. Never part of what is tested: a machine may be slow. */
export const PATIENCE = Number(process.env.PRISM_PATIENCE ?? 180_000);

/** Wait until `wanted` returns something true, and return it; fail with `missing` if it never does. */
export async function until(wanted, missing) {
  for (const end = Date.now() + PATIENCE; Date.now() < end; await delay(50)) {
    const found = await wanted();
    if (found) return found;
  }
  return assert.fail(missing);
}

/** What makes a file the microphone: its sound comes again and again. Without a file, the person refuses. */
const microphone = (file) => ['--use-fake-device-for-media-stream', ...(file ? ['--use-fake-ui-for-media-stream', `--use-file-for-fake-audio-capture=${file}`] : ['--use-fake-ui-for-media-stream=deny'])];

/**
 * What the packed browser is usually started with, and is not here. One process for all would die with the first page
 * that closes. A graphics card in software costs more than the page itself: on a busy machine its queue of pictures
 * grows to a minute, and the page, which waits for it, stands still. Without web security any page could read any other
 * server's answers: what the server allows to which origin would never be tried.
 */
const UNWANTED = /single-process|no-zygote|gpu|use-gl|use-angle|swiftshader|web-security|insecure-content|site-isolation/;

/** Start the browser; `close` it in the end. With `hears`, it has a microphone that hears that file. */
export async function launch({ hears } = {}) {
  return chromium.launch({
    executablePath: path.join(FOLDER, 'chromium'),
    args: [...packed.args.filter((word) => !UNWANTED.test(word)), '--disable-gpu', '--enable-precise-memory-info', ...(hears === undefined ? [] : microphone(hears))],
    headless: true,
    env: {
      ...process.env,
      LD_LIBRARY_PATH: path.join(FOLDER, 'al2023', 'lib'),
      FONTCONFIG_PATH: path.join(FOLDER, 'fonts'),
    },
  });
}

/**
 * Open a page of its own. `allow` lists patterns of console errors that the test provokes; `init` runs before the page.
 * Returns the page with `troubles`, what went wrong on it so far.
 */
export async function open(browser, address = '', { width = 1440, height = 900, dark = false, allow = [], url = SERVER, init, ...context } = {}) {
  const opened = await browser.newContext({
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
    ...context,
  });
  if (init) await opened.addInitScript(init);
  const page = await opened.newPage();
  page.troubles = [];
  const note = (text) => {
    if (!allow.some((pattern) => pattern.test(text))) page.troubles.push(text);
  };
  page.on('pageerror', (error) => note(`thrown: ${error.stack ?? error}`));
  page.on('console', (message) => message.type() === 'error' && note(`console: ${message.text()}`));
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol.startsWith('http') && origin !== new URL(url).origin) note(`request to ${request.url()}`);
  });
  page.setDefaultTimeout(PATIENCE);
  await page.goto(`${url}/${address}`);
  return page;
}

/** Let a browser load all code of the page, which it keeps: from now on no part of it is missing while the server is away. */
export async function loadCode(page) {
  const addresses = (await readdir(CODE)).map((name) => `assets/${name}`);
  await page.evaluate((all) => Promise.all(all.map(async (one) => (await fetch(one)).arrayBuffer())), addresses);
}

/** Fail if anything went wrong on a page so far. */
export function quiet(page) {
  assert.deepEqual(page.troubles.splice(0), []);
}

/** After a test: what the page showed when it failed, or that nothing went wrong on it. */
export async function afterTest(t, page) {
  if (t.passed) return quiet(page);
  const shown = await page.evaluate(() => document.body.innerText).catch((error) => `${error}`);
  t.diagnostic(`the page showed: ${shown.slice(-2000)}`);
  t.diagnostic(`troubles: ${JSON.stringify(page.troubles.splice(0))}`);
}

/** Close a page; fail if anything went wrong on it. */
export async function close(page) {
  await page.context().close();
  quiet(page);
}

/** Fail if axe finds a violation. */
export async function checkAccess(page) {
  await page.evaluate(await readFile(AXE, 'utf-8'));
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  const found = violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 200)).join(' | ')}`);
  assert.deepEqual(found, []);
}

/** Say something in a new chat of an app; return when its answer is whole. */
export async function ask(page, text, { app = 'tour', wait = true } = {}) {
  await newChat(page, app);
  await say(page, text);
  if (wait) await settled(page);
}

/** Open a new chat from the rail. */
export async function newChat(page, app) {
  if (page.viewportSize().width <= 1100) await page.getByRole('button', { name: 'Apps and conversations' }).click();
  await page.getByRole('navigation', { name: 'Apps and conversations' }).getByRole('button', { name: app, exact: true }).click();
  await page.getByText(`New chat with ${app}`).waitFor();
}

/** The messages of the chat. What an answer says stands in the trace, too: look for it here. */
export const chat = (page) => page.getByRole('log');

export async function say(page, text) {
  await page.getByRole('textbox', { name: 'Message' }).fill(text);
  await page.keyboard.press('Enter');
}

/** The keys of the panels: those that have nothing to show are offered by no button. */
const KEYS = { Trace: 't', Step: 'i', Graph: '1', State: '2', Proof: '3', Grounding: '4', Event: '5', Model: '6', Artifacts: '7' };

/** Open a panel beside the chat, unless it is open; return it. */
export async function openPanel(page, name) {
  const button = page.getByRole('navigation', { name: 'Panels' }).getByRole('button', { name, exact: true });
  await page.getByRole('navigation', { name: 'Panels' }).waitFor();
  // A run may open it by itself at this moment: then the click closes it, and the next one opens it again.
  await until(async () => {
    const isOffered = (await button.count()) > 0;
    const isOpen = isOffered && (await button.getAttribute('aria-pressed')) === 'true';
    if (isOffered && !isOpen) await button.click();
    else if (!isOffered) {
      await page.evaluate(() => document.activeElement?.blur());
      await page.keyboard.press(KEYS[name]);
    }
    return isOpen;
  }, `the panel ${name} does not open`);
  const panel = page.locator(`section.panel[aria-label="${name}"]`);
  await panel.waitFor();
  return panel;
}

/** Open the group of a sub-agent, which is closed when it is done. */
export async function unfold(page, name) {
  const head = page.getByRole('group', { name, exact: true }).getByRole('button').first();
  if ((await head.getAttribute('aria-expanded')) !== 'true') await head.click();
}

/** Wait until an answer has ended. */
export async function settled(page) {
  await page.getByRole('log').and(page.locator('[aria-busy="false"]')).waitFor();
  await page.locator('.message[data-role="assistant"] .message-foot').last().waitFor();
}

// Talks to the built example in Chromium, whose microphone hears a tone: node live_voice.mjs PAGE. PRISM_URL names the server.
import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { launch } from '../../web/browser.mjs';

const [address] = process.argv.slice(2);
const RATE = 16_000;

/** A second of 440 Hz, which the browser repeats. */
function tone() {
  const data = Buffer.alloc(2 * RATE);
  for (let i = 0; i < RATE; i++) data.writeInt16LE(Math.round(12_000 * Math.sin((2 * Math.PI * 440 * i) / RATE)), 2 * i);
  const head = Buffer.alloc(44);
  head.write('RIFF');
  head.writeUInt32LE(36 + data.length, 4);
  head.write('WAVEfmt ', 8);
  for (const [at, size, value] of [[16, 4, 16], [20, 2, 1], [22, 2, 1], [24, 4, RATE], [28, 4, 2 * RATE], [32, 2, 2], [34, 2, 16]]) head.writeUIntLE(value, at, size);
  head.write('data', 36);
  head.writeUInt32LE(data.length, 40);
  return Buffer.concat([head, data]);
}

test('what is said is heard, and answered', async (t) => {
  const file = path.join(await mkdtemp(path.join(tmpdir(), 'prism-tone-')), 'tone.wav');
  await writeFile(file, tone());
  const browser = await launch({ hears: file });
  t.after(() => browser.close());
  const page = await browser.newPage();
  page.setDefaultTimeout(120_000);
  const errors = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  await page.goto(address);
  await page.getByRole('button', { name: 'Talk' }).click();
  await page.getByRole('status').getByText('ready').waitFor();
  await page.getByRole('button', { name: 'Hold to speak' }).hover();
  await delay(1000); // The microphone is asked for meanwhile; speech takes time, too.
  await page.mouse.down();
  await page.getByRole('status').getByText('listening').waitFor();
  await delay(1500);
  await page.mouse.up();
  await page.locator('[data-role=user]').getByText(/seconds of sound near 4\d\d Hz/).waitFor();
  await page.locator('[data-role=assistant]').getByText(/\w+ \w+/).first().waitFor();
  await page.getByRole('status').getByText('speaking').waitFor();
  if (process.env.PICTURE) await page.locator('main').screenshot({ path: process.env.PICTURE });
  await page.getByRole('button', { name: 'End' }).click();
  await page.getByRole('button', { name: 'Talk' }).waitFor();
  assert.deepEqual(errors, []);
});

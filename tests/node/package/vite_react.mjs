// Opens the built example in Chromium: node vite_react.mjs PAGE. PRISM_URL names the server.
import { test } from 'node:test';
import { approve, attach, open, quiet, reload, say, startAnother } from './example.mjs';

const [address] = process.argv.slice(2);

test('a chat with approval, a tool of the page, files, sources and history', async () => {
  const page = await open(address);
  await approve(page);
  await attach(page);
  await reload(page);
  await startAnother(page, 'mixed batch');
  await say(page, 'text');
  await page.getByText('streamed word by word').waitFor();
  quiet(page);
});

// Looking inside: what a node is made of, and what went in and out each time it ran.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ask, checkAccess, close, launch, open, openPanel, settled, until } from './browser.mjs';

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const panel = (page, name) => page.locator(`section.panel[aria-label="${name}"]`);
const vertex = (page, name) => page.locator('.react-flow__node').filter({ has: page.locator('.vertex b').getByText(name, { exact: true }) });

test('a node of the graph opens its instruction, tools, inputs and outputs, and leads to its model calls', async () => {
  const page = await open(browser);
  await ask(page, 'workflow');
  await settled(page);
  await openPanel(page, 'Graph');
  await vertex(page, 'tour').click();
  const node = page.locator('.node-details');
  await node.getByRole('heading', { name: /^tour agent, run 1 of 1/ }).waitFor();
  await node.getByText('Instruction', { exact: true }).waitFor();
  await node.getByText(/^Tools \(/).click();
  await node.getByText(/plan_trip/).first().waitFor();
  await node.getByText('from user').waitFor();
  await checkAccess(page);
  await vertex(page, 'conclude').click();
  await node.getByRole('heading', { name: /^conclude function/ }).waitFor();
  await node.getByText('from gather:').waitFor();
  await node.getByRole('heading', { name: 'Output' }).waitFor();
  const event = node.getByRole('button', { name: /^event / }).first();
  const cursor = (await event.innerText()).match(/\d+/)[0];
  await event.click();
  await until(async () => page.url().includes(`at=${cursor}`), 'the playhead did not follow');
  await node.getByRole('heading', { name: 'Output' }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: /^Back to latest/ }).click();
  await vertex(page, 'route_planner').click();
  await node.getByRole('button', { name: /, event \d+$/ }).first().click();
  await panel(page, 'Model').getByText('Instruction', { exact: true }).waitFor();
  await close(page);
});

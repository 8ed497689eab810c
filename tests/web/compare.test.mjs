// Two runs side by side: chosen from a run's menu, and what differs between them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ask, chat, checkAccess, close, launch, open, say, settled, until } from './browser.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

test('a run is compared with another one from its menu', async () => {
  const page = await open(browser);
  await ask(page, 'tool', { app: 'tour' });
  await ask(page, 'tool error', { app: 'tour' });
  await page.getByRole('button', { name: 'Share' }).click();
  await page.getByRole('link', { name: 'Compare…' }).click();
  await page.getByRole('link', { name: 'tool', exact: true }).first().click();
  await page.getByText('Tools changed').waitFor();
  await page.getByText('Answer changed').waitFor();
  const tools = page.getByRole('region', { name: 'Tools' });
  await tools.getByText('only in A').first().waitFor();
  await tools.getByText('Lisbon').first().waitFor();
  await page.getByRole('region', { name: 'Answer of A' }).waitFor();
  await page.getByText(/^Marked: \d+ words? only in A, \d+ only in B\.$/).waitFor();
  const marked = await page.evaluate(() => [...CSS.highlights.get('changed-word')].map(String));
  const answer = await page.getByRole('region', { name: 'Answer of A' }).innerText();
  assert.ok(marked.length > 0 && answer.includes(marked[0]), 'no word of A is marked');
  await page.getByText('tool error', { exact: true }).first().waitFor();
  assert.equal(await page.getByRole('link', { name: /^run-/ }).count(), 0, 'a run is named by its id');
  await checkAccess(page);
  assert.match(page.url(), /#\/compare\/[^/]+\/[^/]+$/);
  await page.getByRole('link', { name: 'Swap' }).click();
  await page.locator('.compare-step').getByText('only in A').first().click();
  await page.locator('.compare-step').getByRole('link', { name: 'Open' }).first().click();
  await page.getByRole('slider', { name: 'Playhead' }).waitFor();
  await close(page);
});

test('a run compared with itself is the same, and one that is not there is a clear answer', async () => {
  const page = await open(browser, '', { allow: [/404/] });
  await ask(page, 'state', { app: 'tour' });
  const run = await page.evaluate(async () => (await (await fetch('api/runs?limit=1')).json())[0].run);
  await page.goto(`${page.url().split('#')[0]}#/compare/${run}/${run}`);
  await page.getByText('The runs are the same').waitFor();
  await page.getByRole('checkbox', { name: 'Only what differs' }).waitFor();
  await page.goto(`${page.url().split('#')[0]}#/compare/${run}/run-nobody`);
  await page.getByText("Could not compare these runs: There is no run 'run-nobody'.").waitFor();
  await close(page);
});

test('a run is run again with another instruction, and compared', async () => {
  const page = await open(browser, '', { allow: [/status of 422/] });
  await ask(page, 'tool', { app: 'tour' });
  await page.getByRole('button', { name: 'Share' }).click();
  await page.getByRole('link', { name: 'Edit and run again…' }).click();
  const panel = page.getByRole('region', { name: 'Edit and run again' }).first();
  await panel.getByRole('textbox', { name: 'Parameters of tour' }).fill('hot');
  await panel.getByRole('button', { name: 'Run again' }).click();
  await panel.getByText('Parameters must be JSON').waitFor();
  await panel.getByRole('textbox', { name: 'Parameters of tour' }).fill('{"temperature": "hot"}');
  await panel.getByRole('button', { name: 'Run again' }).click();
  await panel.getByText("The parameter temperature of 'tour'").waitFor();
  await panel.getByRole('textbox', { name: 'Parameters of tour' }).fill('');
  await panel.getByRole('textbox', { name: 'Instruction of tour' }).fill('Say it otherwise.');
  await checkAccess(page);
  await panel.getByRole('button', { name: 'Run again' }).click();
  await panel.getByText('Prompt changed').waitFor();
  assert.equal(await panel.getByText('Tools changed').count(), 0);
  await panel.getByText(/^Answer: same · Tools: same \(1\) · Instruction: changed/).waitFor();
  await panel.getByRole('region', { name: 'Instruction', exact: true }).locator('mark', { hasText: 'otherwise.' }).waitFor();
  assert.equal(await panel.getByRole('region', { name: 'Answer of B' }).count(), 0, 'equal answers are shown in full');
  await panel.getByRole('checkbox', { name: 'Only what differs' }).uncheck();
  await panel.getByRole('region', { name: 'Answer of B' }).waitFor();
  await checkAccess(page);
  assert.match(page.url(), /panel=rerun/, 'the conversation is left');
  await panel.getByRole('link', { name: 'Compare on a page' }).click();
  await page.getByRole('heading', { name: 'Compare', exact: true }).waitFor();
  await page.goBack();
  await panel.getByText('Prompt changed').waitFor();
  assert.equal(await panel.getByRole('textbox', { name: 'Instruction of tour' }).inputValue(), 'Say it otherwise.', 'what was typed is lost');
  await panel.getByRole('textbox', { name: 'Message' }).fill('tool error');
  await panel.getByRole('button', { name: 'Run again' }).click();
  await panel.getByText('Tools changed').waitFor();
  await close(page);
});

test('below every answer its run is edited, beside the chat', async () => {
  const page = await open(browser);
  await ask(page, 'tool', { app: 'tour' });
  await say(page, 'state');
  await settled(page);
  const links = chat(page).getByRole('link', { name: 'Edit and run again', exact: true });
  await until(async () => (await links.count()) === 2, 'not every answer has it');
  const message = page.getByRole('region', { name: 'Edit and run again' }).first().getByRole('textbox', { name: 'Message', exact: true });
  for (const [index, said] of ['tool', 'state'].entries()) {
    await links.nth(index).click();
    await until(async () => (await message.inputValue()) === said, `the message is not ${said}`);
    await chat(page).waitFor();
  }
  await close(page);
});

test('the palette has what can be done with a run', async () => {
  const page = await open(browser);
  await ask(page, 'tool', { app: 'tour' });
  await page.keyboard.press('Control+K');
  await page.getByRole('dialog').getByRole('combobox').fill('edit and run');
  await page.getByRole('option', { name: /Edit and run again/ }).first().waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Run again', exact: true }).waitFor();
  await close(page);
});

test('the arguments of a tool are edited, and a run that goes on is cancelled', async () => {
  const page = await open(browser);
  await ask(page, 'tool', { app: 'tour' });
  await page.getByRole('treeitem', { name: /get_weather/ }).first().click();
  await page.getByRole('link', { name: 'Edit and run again…' }).first().click();
  const panel = page.getByRole('region', { name: 'Edit and run again' }).first();
  await panel.getByRole('textbox', { name: 'Arguments of get_weather' }).fill('{"city": "Porto"}');
  await panel.getByRole('button', { name: 'Run again' }).click();
  await panel.getByText('Porto').first().waitFor();
  await panel.getByText(/recorded, \d+ live\./).waitFor();
  await page.route('**/rerun', (route) => route.request().method() === 'POST' ? setTimeout(() => route.continue().catch(() => undefined), 5000) : route.continue());
  await panel.getByRole('button', { name: 'Run again' }).click();
  await panel.getByRole('button', { name: 'Cancel' }).click();
  await panel.getByRole('button', { name: 'Run again' }).and(page.locator(':enabled')).waitFor();
  await close(page);
});

// A run that was right becomes an eval case; it passes on its agent, and fails on one with a wrong instruction.
import assert from 'node:assert/strict';
import { copyFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { ask, checkAccess, close, launch, open } from './browser.mjs';

const AGENTS = process.env.PRISM_AGENTS;

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

test('a run is added to an eval set, evaluated, and compared with what was expected', async () => {
  const page = await open(browser);
  await ask(page, 'What does the lamp cost?', { app: 'right' });
  await page.getByRole('button', { name: 'Share' }).click();
  await page.getByRole('link', { name: 'Add to evaluation…' }).click();
  await page.getByText('No eval sets yet').waitFor();
  await page.getByRole('combobox', { name: 'Eval set' }).fill('prices');
  await page.getByRole('link', { name: '“What does the lamp cost?”' }).waitFor();
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('heading', { name: 'prices' }).waitFor();
  await page.waitForURL(/#\/evals\/right$/);
  await page.getByText('Not evaluated yet').waitFor();
  await checkAccess(page);
  const grid = page.getByRole('region', { name: 'Cases of prices' });
  for (const times of [1, 2]) {
    await page.getByRole('button', { name: 'Evaluate' }).click();
    await grid.getByText('1 of 1 passed').nth(times - 1).waitFor();
  }
  assert.equal(await grid.getByRole('link', { name: '1 Passed' }).count(), 2, 'each evaluation is a column');
  await checkAccess(page);
  // As `adk-prism eval --trials` leaves it.
  const cell = { column: 'as it is', trials: 10, stopped: 'all 10 trials', seconds: 1.31, cost: 0.0009 };
  const cells = [
    { ...cell, subject: 'a case', passed: 7, interval: [0.3968, 0.8922] },
    { ...cell, subject: 'a case', column: 'model=other', passed: 10, interval: [0.7225, 1], cost: null },
  ];
  await writeFile(path.join(AGENTS, 'right', '.adk', 'eval_history', '1.trials.json'), JSON.stringify({ evalSetId: 'prices', time: 1_700_000_000, cells }));
  await page.reload();
  const trials = page.getByRole('region', { name: 'Trials' });
  await trials.getByText('7/10, 40–89%').waitFor();
  await trials.getByText('cost 0.0009 · 1.3 s').waitFor();
  await trials.getByRole('columnheader', { name: 'model=other' }).waitFor();
  if (process.env.PRISM_PICTURES) await page.screenshot({ path: `${process.env.PRISM_PICTURES}/trials.png` });
  await checkAccess(page);
  await page.setViewportSize({ width: 390, height: 844 });
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'it is wider than the screen');
  await page.setViewportSize({ width: 1440, height: 900 });

  await copyFile(path.join(AGENTS, 'right', 'prices.evalset.json'), path.join(AGENTS, 'wrong', 'prices.evalset.json'));
  await page.goto(`${page.url().split('#')[0]}#/evals/wrong`);
  await page.getByRole('button', { name: 'Evaluate' }).click();
  await page.getByText('0 of 1 passed').waitFor();
  await grid.getByText(/response_match_score 0[.\d]*, at least 0\.8 is needed/).waitFor();
  await checkAccess(page);
  await grid.getByRole('link', { name: / Failed$/ }).click();
  await page.getByText('Tools changed').waitFor();
  const conversations = await page.evaluate(async () => (await (await fetch('api/conversations')).json()).map(({ session }) => session));
  assert.ok(conversations.every((session) => !session.startsWith('adk-eval')), 'evaluations are no conversations');
  await close(page);
});

test('what cannot be added or evaluated is said', async () => {
  const page = await open(browser, '#/evals/right?run=run-0', { allow: [/404/] });
  await page.getByRole('combobox', { name: 'Eval set' }).fill('my prices');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByText("There is no run 'run-0'.").waitFor();
  await close(page);
});

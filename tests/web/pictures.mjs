// Takes the pictures in docs/pictures of a server that was just started:
//
//     PRISM_URL=http://127.0.0.1:8000 node tests/web/pictures.mjs
import path from 'node:path';
import { ask, launch, open, openPanel } from './browser.mjs';

const FOLDER = path.join(import.meta.dirname, '..', '..', 'docs', 'pictures');
const BRIEFING = 'Give me a recovery briefing for Cedar Creek Fire';

const browser = await launch();
const picture = async (page, name) => {
  await page.waitForTimeout(800); // panels that load late
  await page.mouse.move(0, 0);
  await page.screenshot({ path: path.join(FOLDER, `${name}.png`) });
};

for (const dark of [false, true]) {
  const suffix = dark ? '-dark' : '';
  const page = await open(browser, '', { dark });
  await ask(page, BRIEFING, { app: 'recovery' });
  await openPanel(page, 'Proof');
  await picture(page, `briefing${suffix}`);
  await page.evaluate(() => (location.hash = `${location.hash.split('?')[0]}?at=600`));
  await picture(page, `past${suffix}`);
  await ask(page, 'What is known about counterfactual explanations?', { app: 'research' });
  await openPanel(page, 'Grounding');
  await picture(page, `research${suffix}`);
  await page.goto(`${process.env.PRISM_URL}/#/`);
  await page.locator('.card').first().waitFor();
  await picture(page, `home${suffix}`);
  await page.context().close();
}
const narrow = await open(browser, '', { width: 390, height: 844, dark: true });
await ask(narrow, 'approval');
await picture(narrow, 'narrow-dark');
await browser.close();

import { act } from 'react';
import { createRoot } from 'react-dom/client';
import { expect, test } from 'vitest';
import { CatalogueContext, type AppEntry, type Catalogue } from '../app/catalogue';
import { Heading } from './Heading';

const APP: AppEntry = {
  name: 'ear',
  description: '',
  agents: [],
  models: ['m'],
  offline: false,
  live: false,
  title: null,
  bundled: false,
  reloads: 2,
  changed: false,
  prompts: [],
};

test('the line above a chat says that the app was reloaded since, or does not load', async () => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  const place = document.createElement('div');
  const root = createRoot(place);
  const show = async (entry: AppEntry) => {
    const catalogue: Catalogue = {
      apps: [entry],
      conversations: [],
      problem: '',
      refresh: () => undefined,
      loadAll: () => undefined,
      load: () => undefined,
    };
    await act(async () =>
      root.render(
        <CatalogueContext value={catalogue}>
          <Heading app="ear" title="" run={null} />
        </CatalogueContext>,
      ),
    );
    return place.textContent;
  };
  expect(await show(APP)).not.toContain('reloaded');
  expect(await show({ ...APP, reloads: 3 })).toContain('App reloaded');
  expect(await show(APP)).toContain('App reloaded'); // An older list, which came later.
  expect(await show({ name: 'ear', error: 'NameError' })).toContain('App does not load');
  await act(async () => root.unmount());
});

import { act } from 'react';
import { createRoot } from 'react-dom/client';
import { afterEach, expect, test, vi } from 'vitest';
import { queries } from './query';
import { CatalogueContext, useApp, useLoaded, useLoadedCatalogue } from './catalogue';

afterEach(() => queries.clear());

const LISTED = {
  name: 'ear',
  description: null,
  agents: null,
  models: null,
  offline: null,
  live: null,
  title: null,
  bundled: false,
  reloads: 0,
  changed: false,
  prompts: [],
};
const LOADED = { ...LISTED, description: '', agents: ['ear'], models: ['m'], offline: false, live: true };

function Page() {
  const catalogue = useLoadedCatalogue();
  return (
    <CatalogueContext value={catalogue}>
      <button type="button" onClick={catalogue.refresh} />
      <Chat />
    </CatalogueContext>
  );
}

function Chat() {
  const app = useApp('ear');
  useLoaded(app);
  return app?.live ? 'Talk' : 'not known';
}

/** A server whose answers wait; return what sends all of them at once. */
function heldServer(): () => Promise<void> {
  const held: (() => void)[] = [];
  vi.stubGlobal('fetch', (input: string | URL) => {
    const { pathname } = new URL(input, 'http://page/');
    const body = { '/api/apps': [LISTED], '/api/apps/ear': LOADED }[pathname] ?? [];
    return new Promise<Response>((done) => held.push(() => done(Response.json(body))));
  });
  return () =>
    act(async () => {
      for (const send of held.splice(0)) send();
      // What was loaded is told to components in a task of its own.
      await new Promise((told) => setTimeout(told, 5));
    });
}

test('an app is loaded again when an older list arrives together with what was loaded', async () => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  const sendAll = heldServer();
  const place = document.createElement('div');
  const root = createRoot(place);
  await act(async () => root.render(<Page />));
  await sendAll(); // The list: the app is asked for.
  await act(async () => place.querySelector('button')!.click()); // The list again, while the app is loaded.
  await sendAll(); // Both at once.
  await sendAll(); // The app once more.
  expect(place.textContent).toBe('Talk');
  await act(async () => root.unmount());
  vi.unstubAllGlobals();
});

test('all conversations are listed when that is asked for', async () => {
  const all = Array.from({ length: 100 }, (_, number) => ({ session: `s${number}` }));
  vi.stubGlobal('fetch', async (input: string | URL) => {
    const { pathname, searchParams } = new URL(input, 'http://page/');
    const isList = pathname === '/api/conversations';
    return Response.json(isList ? all.slice(0, Number(searchParams.get('limit'))) : []);
  });
  const place = document.createElement('div');
  const root = createRoot(place);
  const settle = () => act(async () => new Promise((settled) => setTimeout(settled, 20)));
  await act(async () => root.render(<List />));
  await settle();
  expect(place.textContent).toBe('40');
  await act(async () => place.querySelector('button')!.click());
  await settle();
  expect(place.textContent).toBe('100');
  await act(async () => root.unmount());
  vi.unstubAllGlobals();
});

function List() {
  const { conversations, loadAll } = useLoadedCatalogue();
  return (
    <button type="button" onClick={loadAll}>
      {conversations?.length}
    </button>
  );
}

import { renderToStaticMarkup } from 'react-dom/server';
import { afterEach, expect, test } from 'vitest';
import { queries } from '../app/query';
import { PANELS, useFeature, useFeatures, usePanels } from './registry';

afterEach(() => queries.clear());

function Shown() {
  const features = useFeatures();
  const panels = usePanels().map(({ name }) => name);
  const actions = features.flatMap(({ runActions }) => runActions?.('r-1', 'tour') ?? []).map(({ word }) => word);
  return <p>{JSON.stringify({ panels, actions, canRerun: useFeature('rerun') })}</p>;
}

const shown = () =>
  JSON.parse(
    renderToStaticMarkup(<Shown />)
      .replace(/<\/?p>/g, '')
      .replaceAll('&quot;', '"'),
  );

test('a server that does not tell its features has all of them', () => {
  queries.setQueryData(['features'], {});
  expect(shown().panels).toEqual(PANELS.map(({ name }) => name));
  expect(shown().actions).toEqual([
    'Edit and run again…',
    'Compare…',
    'Add to evaluation…',
    'Recording (JSON lines)',
    'Share as one HTML file',
  ]);
});

test('of a feature that is off nothing is shown', () => {
  queries.setQueryData(['features'], { features: ['compare', 'model_calls', 'search'] });
  expect(shown()).toEqual({
    panels: ['timeline', 'step', 'graph', 'state', 'event', 'model', 'artifacts'],
    actions: ['Compare…'],
    canRerun: false,
  });
});

test('no two panels share a name or a key', () => {
  expect(new Set(PANELS.map(({ name }) => name)).size).toBe(PANELS.length);
  expect(new Set(PANELS.map(({ key }) => key)).size).toBe(PANELS.length);
});

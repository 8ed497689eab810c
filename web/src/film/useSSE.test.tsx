/** The Studio client's hook in a real React: what a component sees while a stream is read. */
import * as React from 'react';
import { act } from 'react';
import { createRoot } from 'react-dom/client';
import { expect, test } from 'vitest';
import { createUseSSE, type UseSSEReturn } from '../../../packages/client/src/studio-client';

const STREAM = `id: r:1.1
event: session
data: s1

id: r:2.1
event: trace
data: {"type":"node_start","node":"a","step":1,"id":"n1","state_snapshot":{"input":{"query":"hi"},"output":{}},"state_keys":["query"],"overlay":{"input":["query"]}}

id: r:3.1
event: chunk
data: Hello.

id: r:4.1
event: trace
data: {"type":"node_end","node":"a","step":1,"id":"n1","duration_ms":5,"state_snapshot":{"input":{"query":"hi"},"output":{"query":"hi","response":"Hello."}},"state_keys":["query","response"],"overlay":{"input":["query"],"output":["query","response"]},"result":"Hello."}

id: r:5.1
event: trace
data: {"type":"done","total_steps":1}

id: r:5.2
event: end
data:

`;

const OPTIONS = {
  nodes: [{ id: 'a', name: 'a' }],
  edges: [{ id: 'a->END', from: 'a', to: 'END', kind: 'sequence' }],
};
const useSSE = createUseSSE(React);

test('a component sees snapshots, the index and keys by edge, and leaves the stream with it', async () => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  const seen: UseSSEReturn[] = [];
  let signal: AbortSignal | null | undefined;
  const fetch: typeof globalThis.fetch = async (_, init) => {
    signal = init?.signal;
    return new Response(STREAM, { headers: { 'content-type': 'text/event-stream' } });
  };
  function Timeline() {
    const sse = useSSE('/api/studio/tour', { ...OPTIONS, fetch });
    seen.push(sse);
    return <p>{sse.text}</p>;
  }
  const place = document.createElement('div');
  const root = createRoot(place);
  await act(async () =>
    root.render(
      <React.StrictMode>
        <Timeline />
      </React.StrictMode>,
    ),
  );
  expect(seen.at(-1)).toMatchObject({ status: 'idle', snapshots: [], currentSnapshotIndex: -1 });

  await act(async () => void (await seen.at(-1)!.send('hi')));
  const last = seen.at(-1)!;
  expect(place.textContent).toBe('Hello.');
  expect(last.status).toBe('done');
  expect(last.currentSnapshotIndex).toBe(0);
  expect(last.snapshots).toMatchObject([
    {
      nodeId: 'a',
      inputState: { query: 'hi' },
      outputState: { query: 'hi', response: 'Hello.' },
      duration: 5,
      status: 'success',
    },
  ]);
  expect([...last.stateKeys]).toEqual([['a->END', ['query', 'response']]]);
  expect(last.send).toBe(seen[0]!.send);

  await act(async () => void last.send('again'));
  await act(async () => root.unmount());
  expect(signal?.aborted).toBe(true);
});

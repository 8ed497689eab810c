// @vitest-environment happy-dom
/** A block that fails to draw is shown as it was written, until it is another one; its neighbours stay. */
import { act } from 'react';
import { createRoot } from 'react-dom/client';
import { expect, test, vi } from 'vitest';
import { Guarded } from './Prose';

function Fragile({ text }: { text: string }) {
  if (text.includes('monster')) throw new RangeError('Maximum call stack size exceeded');
  return <b>{text}</b>;
}

function Page({ text }: { text: string }) {
  return (
    <div>
      <Guarded of={text} instead={<p>{text}</p>}>
        <Fragile text={text} />
      </Guarded>
      <input />
    </div>
  );
}

test('a block that fails', async () => {
  vi.stubGlobal('IS_REACT_ACT_ENVIRONMENT', true);
  vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const place = document.createElement('div');
  const root = createRoot(place);
  for (const [text, shown] of [
    ['fine', '<b>fine</b>'],
    ['a monster', '<p>a monster</p>'],
    ['a monster', '<p>a monster</p>'],
    ['a monster that grows', '<p>a monster that grows</p>'],
    ['fine again', '<b>fine again</b>'],
  ] as const) {
    await act(async () => root.render(<Page text={text} />));
    expect(place.innerHTML).toBe(`<div>${shown}<input></div>`);
  }
});

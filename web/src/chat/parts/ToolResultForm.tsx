/** A call that waits for this device or its person: run it here, answer it by hand, or say that it failed. */
import { useState } from 'react';
import { explain } from '../../app/server';
import { useActions } from '../ChatContext';
import { readAnswer } from '../answerSchema';

/** Tools that the browser itself can run, by name. Any other is answered by the person. */
export type ClientTool = {
  /** What the button says that runs it. */
  action: string;
  run(input: unknown): Promise<unknown>;
};

export const CLIENT_TOOLS: Readonly<Record<string, ClientTool>> = {
  get_location: { action: 'Share this device’s location', run: location },
};

/** Degrees are rounded for a city: about a kilometre. */
const CITY_DIGITS = 2;

async function location(input: unknown): Promise<unknown> {
  const exact = (input as { accuracy?: unknown } | null)?.accuracy === 'exact';
  const { coords } = await new Promise<GeolocationPosition>((resolve, reject) => {
    if (!('geolocation' in navigator)) reject(new Error('This browser cannot provide a location.'));
    else
      navigator.geolocation.getCurrentPosition(resolve, (error) => reject(new Error(error.message)), {
        enableHighAccuracy: exact,
        timeout: 15_000,
      });
  });
  const digits = exact ? 6 : CITY_DIGITS;
  return {
    latitude: round(coords.latitude, digits),
    longitude: round(coords.longitude, digits),
    accuracyMetres: Math.round(coords.accuracy),
  };
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

type Props = {
  tool: string;
  call: string;
  input: unknown;
  /** Its message is being written: an answer has to wait. */
  isGrowing?: boolean;
};

export default function ToolResultForm({ tool, call, input, isGrowing = false }: Props) {
  const { conversation, reason } = useActions();
  const [text, setText] = useState('');
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const runner = Object.hasOwn(CLIENT_TOOLS, tool) ? CLIENT_TOOLS[tool] : undefined;
  const isOff = !conversation || isBusy || isGrowing;
  const give = async (answer: () => Promise<unknown>) => {
    setBusy(true);
    setProblem('');
    try {
      await answer();
      setText('');
    } catch (error) {
      setProblem(explain(error));
    }
    setBusy(false);
  };
  const run = () => give(async () => conversation?.answerCall(tool, call, await runner?.run(input)));
  return (
    <div className="ask" role="group" aria-label={`Answer ${tool}`}>
      <p>This tool runs in your browser. Enter its result to continue.</p>
      {problem && <p className="failure">{problem}</p>}
      {runner && (
        <button type="button" className="button" data-look="primary" disabled={isOff} title={reason} onClick={run}>
          {runner.action}
        </button>
      )}
      <textarea
        className="field"
        rows={2}
        aria-label={`Result of ${tool}`}
        placeholder="Result: text or JSON"
        value={text}
        disabled={isOff}
        onChange={(event) => setText(event.target.value)}
      />
      <div className="row">
        <button
          type="button"
          className="button"
          disabled={isOff || !text.trim()}
          title={reason}
          onClick={() => give(async () => conversation?.answerCall(tool, call, readAnswer(text)))}
        >
          Send result
        </button>
        <button
          type="button"
          className="button"
          data-look="quiet"
          disabled={isOff}
          title={reason}
          onClick={() =>
            give(async () =>
              conversation?.failCall(tool, call, problem || text.trim() || 'The user did not provide a result.'),
            )
          }
        >
          Report an error
        </button>
      </div>
    </div>
  );
}

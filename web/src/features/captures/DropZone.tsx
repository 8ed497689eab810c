/** A recording or capture, dropped, picked, or one that comes with the page, becomes a run of this server. */
import { useRef, useState, type DragEvent } from 'react';
import { explain, postBytes } from '../../app/server';
import { useCatalogue } from '../../app/catalogue';
import { Icon } from '../../ui/Icon';
import { size } from '../../ui/format';
import type { SampleName } from './samples';
import { go, HOME } from '../../app/route';

type State =
  | { kind: 'idle' }
  | { kind: 'sending'; name: string; bytes: number }
  | { kind: 'failed'; name: string; reason: string };

const SAMPLES: Record<SampleName, string> = {
  specialists: 'Three specialists in parallel',
  recovered: 'A failed step and its retry',
  'agent-tool': 'An agent inside a tool',
};

export function DropZone() {
  const { refresh } = useCatalogue();
  const [state, setState] = useState<State>({ kind: 'idle' });
  const [isOver, setOver] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const open = async (name: string, load: () => Promise<Blob>) => {
    setState({ kind: 'sending', name, bytes: 0 });
    try {
      const body = await load();
      setState({ kind: 'sending', name, bytes: body.size });
      await openRecording(name, body);
      refresh();
    } catch (error) {
      setState({ kind: 'failed', name, reason: explain(error) });
    }
  };
  const upload = (file: File | undefined) => void (file && open(file.name, async () => file));
  const sample = (name: SampleName) =>
    open(SAMPLES[name], async () => new Blob([(await import('./samples')).TEXTS[name]]));
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    upload(event.dataTransfer.files[0]);
  };
  return (
    <div
      className="drop"
      data-over={isOver || undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={onDrop}
    >
      <Icon name="upload" />
      <p>
        Drop a file here: an adk-prism recording, ADK events as JSON lines, saved <code>/run_sse</code> output, or a
        session as JSON.
      </p>
      <button
        type="button"
        className="button"
        disabled={state.kind === 'sending'}
        onClick={() => picker.current?.click()}
      >
        Choose a file
      </button>
      <input
        ref={picker}
        type="file"
        hidden
        aria-label="Recording to upload"
        onChange={(event) => upload(event.target.files?.[0])}
      />
      <ul className="prompts" aria-label="Example recordings">
        {(Object.keys(SAMPLES) as SampleName[]).map((name) => (
          <li key={name}>
            <button
              type="button"
              title="Example recording of the tour app"
              disabled={state.kind === 'sending'}
              onClick={() => void sample(name)}
            >
              {SAMPLES[name]}
            </button>
          </li>
        ))}
      </ul>
      <p role="status" className="drop-state" data-kind={state.kind === 'failed' ? 'error' : 'neutral'}>
        {state.kind === 'sending' && `Opening ${state.name}, ${size(state.bytes)}…`}
        {state.kind === 'failed' && `Could not open ${state.name}: ${state.reason}`}
      </p>
    </div>
  );
}

/** A recording becomes a run of this server, and is opened. */
async function openRecording(name: string, body: Blob): Promise<void> {
  const { run } = await postBytes<{ run: string }>(`api/recordings?${new URLSearchParams({ name })}`, body);
  go({ ...HOME, place: { kind: 'run', run } });
}

/** A finished run to look at, for whoever has none yet. */
export function ExampleRun() {
  const { refresh } = useCatalogue();
  const [problem, setProblem] = useState('');
  const open = async () => {
    try {
      const { TEXTS } = await import('./samples');
      await openRecording(SAMPLES.specialists, new Blob([TEXTS.specialists]));
      refresh();
    } catch (error) {
      setProblem(explain(error));
    }
  };
  return (
    <div className="example-run">
      <p>
        <strong>New here?</strong> Look at a finished run: three specialists that work in parallel, with every step,
        model call and tool.
      </p>
      <button type="button" className="button" data-look="primary" onClick={() => void open()}>
        <Icon name="play" /> Open an example run
      </button>
      {problem && <p role="alert">{problem}</p>}
    </div>
  );
}

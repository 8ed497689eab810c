/** A recording or capture from anywhere, dropped or picked, becomes a run of this server. */
import { useRef, useState, type DragEvent } from 'react';
import { explain } from '../app/problem';
import { send } from '../app/request';
import { go, HOME } from '../app/route';
import { useCatalogue } from '../app/catalogue';
import { Icon } from '../ui/Icon';
import { size } from '../ui/time';

type State = { kind: 'idle' } | { kind: 'sending'; name: string; bytes: number } | { kind: 'failed'; name: string; reason: string };

export function DropZone() {
  const { refresh } = useCatalogue();
  const [state, setState] = useState<State>({ kind: 'idle' });
  const [isOver, setOver] = useState(false);
  const picker = useRef<HTMLInputElement>(null);
  const upload = async (file: File | undefined) => {
    if (!file) return;
    setState({ kind: 'sending', name: file.name, bytes: file.size });
    try {
      const headers = { 'content-type': 'application/octet-stream' };
      const { run } = await send<{ run: string }>('api/recordings', { method: 'POST', headers, body: file });
      refresh();
      go({ ...HOME, place: { kind: 'run', run } });
    } catch (error) {
      setState({ kind: 'failed', name: file.name, reason: explain(error) });
    }
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void upload(event.dataTransfer.files[0]);
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
        Drop a file here: a recording of adk-prism, JSON lines of ADK events, a body of <code>/run_sse</code>, or a session as JSON.
      </p>
      <button type="button" className="button" disabled={state.kind === 'sending'} onClick={() => picker.current?.click()}>
        Choose a file
      </button>
      <input ref={picker} type="file" hidden aria-label="Recording to upload" onChange={(event) => void upload(event.target.files?.[0])} />
      <p role="status" className="drop-state" data-kind={state.kind === 'failed' ? 'error' : 'neutral'}>
        {state.kind === 'sending' && `Reading ${state.name}, ${size(state.bytes)}…`}
        {state.kind === 'failed' && `${state.name} was not taken: ${state.reason}`}
      </p>
    </div>
  );
}

/** A recording becomes a run of this server, and is opened. */
import { send } from '../app/request';
import { go, HOME } from '../app/route';

export async function openRecording(body: Blob): Promise<void> {
  const headers = { 'content-type': 'application/octet-stream' };
  const { run } = await send<{ run: string }>('api/recordings', { method: 'POST', headers, body });
  go({ ...HOME, place: { kind: 'run', run } });
}

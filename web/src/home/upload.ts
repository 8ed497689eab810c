/** A recording becomes a run of this server, and is opened. */
import { postBytes } from '../app/request';
import { go, HOME } from '../app/route';

export async function openRecording(name: string, body: Blob): Promise<void> {
  const { run } = await postBytes<{ run: string }>(`api/recordings?${new URLSearchParams({ name })}`, body);
  go({ ...HOME, place: { kind: 'run', run } });
}

/** Where the bytes of a file are: beside the film in a shared file, in the log of the server, or elsewhere. */
import { address, path } from '../app/serverUrl';
import type { Said } from './conversation';
import { shared } from './sharedFile';

export function fileAddress(run: string, { since, part, uri }: Said): string {
  if (uri) return String(uri);
  const place = `${since}/${part}`;
  const embedded = shared();
  if (embedded) return embedded.files[place] ?? 'left-out:too-large-for-this-file';
  return address(path('api', 'runs', run, 'files', String(since), String(part)));
}

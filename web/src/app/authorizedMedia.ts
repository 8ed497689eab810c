/** Pictures and sounds of this server, for elements that can send no token: fetched here, and handed on as they are. */
import { useEffect, useState } from 'react';
import { isOurs } from './serverUrl';
import { call, hasToken } from './identity';
import { problemOf } from './problem';

/** Return an address that an element can load; empty until there is one. */
export function useAuthorizedUrl(at: string, onError: () => void): string {
  const isFetched = hasToken() && isOurs(at);
  const [held, setHeld] = useState('');
  useEffect(() => {
    if (!isFetched) return;
    const leaving = new AbortController();
    let made = '';
    fetchFile(at, leaving.signal).then(
      (file) => {
        if (!leaving.signal.aborted) setHeld((made = URL.createObjectURL(file)));
      },
      () => leaving.signal.aborted || onError(),
    );
    return () => {
      leaving.abort();
      URL.revokeObjectURL(made);
    };
  }, [at, isFetched]);
  return isFetched ? held : at;
}

async function fetchFile(at: string, signal: AbortSignal): Promise<Blob> {
  const response = await call(at, { signal });
  if (!response.ok) throw await problemOf(response);
  return response.blob();
}

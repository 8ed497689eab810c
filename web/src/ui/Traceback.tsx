/** The traceback of an error whose text names a reference, where the server shows it: at a developer's own machine. */
import { useEffect, useState } from 'react';
import { getJson } from '../app/request';
import { shared } from '../film/sharedFile';
import { Details } from './Details';
import * as words from '../words/ui';

type Trace = { text: string; place: string; source: string; traceback: string };

const REFERENCE = /Reference: ([0-9a-f]{12})\./;

/** The exception is reported when the run has ended, a moment after the event that says so. */
const AGAIN_MS = 1500;

export function Traceback({ text }: { text: string }) {
  const reference = REFERENCE.exec(text)?.[1] ?? '';
  const [trace, setTrace] = useState<Trace | null>(null);
  useEffect(() => {
    if (reference === '' || shared()) return;
    const leaving = new AbortController();
    const look = () => getJson<Trace | null>(`api/errors/${reference}`, leaving.signal).catch(() => null);
    let timer = 0;
    void look().then((found) => {
      setTrace(found);
      if (!found && !leaving.signal.aborted) timer = window.setTimeout(() => void look().then(setTrace), AGAIN_MS);
    });
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [reference]);
  if (!trace) return null;
  return (
    <Details className="traceback" summary={trace.place ? <><code>{trace.place}</code> <code>{trace.source}</code></> : words.traceback}>
      {() => <pre>{trace.traceback}</pre>}
    </Details>
  );
}

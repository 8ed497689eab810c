/** The traceback of an error whose text names a reference, where the server shows it: at a developer's own machine. */
import { useServerData } from '../app/query';
import { getJson } from '../app/server';
import { shared } from '../film/sharedFile';
import { Details } from './elements';

type Trace = { text: string; place: string; source: string; traceback: string };

const REFERENCE = /Reference: ([0-9a-f]{12})\./;

/** The exception is reported when the run has ended, a moment after the event that says so. */
const AGAIN_MS = 1500;

export function Traceback({ text }: { text: string }) {
  const reference = REFERENCE.exec(text)?.[1] ?? '';
  const load = async (signal: AbortSignal) => {
    const look = () => getJson<Trace | null>(`api/errors/${reference}`, signal);
    const found = await look().catch(() => null);
    if (found) return found;
    await new Promise((reported) => setTimeout(reported, AGAIN_MS));
    return look();
  };
  const options = { enabled: reference !== '' && !shared(), staleTime: Infinity };
  const { data: trace } = useServerData(['traceback', reference], load, options);
  if (!trace) return null;
  return (
    <Details
      className="traceback"
      summary={
        trace.place ? (
          <>
            <code>{trace.place}</code> <code>{trace.source}</code>
          </>
        ) : (
          'Traceback'
        )
      }
    >
      {() => <pre>{trace.traceback}</pre>}
    </Details>
  );
}

// A stream of Server-Sent Events as eventsource-parser reads it: {stream (base64)} → {events}.
import { createParser } from 'eventsource-parser';
import { serve } from './worker.mjs';

await serve(({ stream }) => {
  const events = [];
  const parser = createParser({
    onEvent: ({ id, event, data }) => events.push({ id: id ?? null, event: event ?? null, data }),
    onError: (error) => events.push({ error: error.type }),
  });
  parser.feed(new TextDecoder().decode(Buffer.from(stream, 'base64')));
  return { events };
});

// Answers JSON lines: one request a line on stdin, one reply a line on stdout, matched by `id`.
//
// Loading an SDK costs more than judging a stream, so one process serves a whole test session.
// Replies come in the order in which the work ends. The worker ends when stdin does.
import { createInterface } from 'node:readline';

/** Serve `answer(request) -> reply` until stdin closes. A throw becomes `{id, crash}`. */
export async function serve(answer) {
  keepStdoutForReplies();
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    if (line.trim() !== '') void reply(line, answer);
  }
}

async function reply(line, answer) {
  let id = null;
  try {
    const request = JSON.parse(line);
    id = request.id ?? null;
    write({ id, ...(await answer(request)) });
  } catch (error) {
    write({ id, crash: error?.stack ?? String(error) });
  }
}

function write(value) {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

// The SDKs warn through console.log and console.info; on stdout that would be a broken reply.
function keepStdoutForReplies() {
  for (const name of ['log', 'info', 'debug']) console[name] = console.error;
}

// Checks the SSE framing of a UI message stream, more strictly than the client does.
//
// The client is silent about most framing faults: an event without its blank line is lost, an
// unknown field is ignored, and [DONE] is skipped wherever it stands. So these are found here.

const FIELDS = new Set(['data', 'event', 'id', 'retry']);

/** Return the problems of the SSE `text` as `{code, message}`. */
export function framingProblems(text) {
  const { events, pending, badLines } = split(text);
  const problems = badLines.map(line => ({
    code: 'bad-line',
    message: `no SSE field, the client drops it: ${JSON.stringify(line.slice(0, 120))}`,
  }));
  if (pending) {
    problems.push({
      code: 'unterminated-event',
      message: 'no blank line after the last event, the client drops it',
    });
  }
  return [...problems, ...doneProblems(events)];
}

function split(text) {
  const events = [];
  const badLines = [];
  let data = [];
  let sawField = false;
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/);
  for (const [index, line] of lines.entries()) {
    // The text after the last line end is no line; when it is empty the text ended with one.
    const isBlank = line === '' && index < lines.length - 1;
    if (isBlank && data.length > 0) events.push(data.join('\n'));
    if (isBlank) [data, sawField] = [[], false];
    if (line === '' || line.startsWith(':')) continue;
    const [field] = line.split(':', 1);
    if (!FIELDS.has(field)) badLines.push(line);
    else sawField = true;
    if (field === 'data') data.push(line.slice(5).replace(/^ /, ''));
  }
  return { events, pending: sawField, badLines };
}

function doneProblems(events) {
  const count = events.filter(event => event === '[DONE]').length;
  if (count === 0) return [{ code: 'missing-done', message: 'no data: [DONE]' }];
  const problems = [];
  if (count > 1) problems.push({ code: 'repeated-done', message: `[DONE] ${count} times` });
  if (events.at(-1) !== '[DONE]') {
    problems.push({ code: 'data-after-done', message: 'events after data: [DONE]' });
  }
  return problems;
}

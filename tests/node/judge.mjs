// Judges UI message streams with the AI SDK's own code, as a worker (see worker.mjs).
//
//   request  {id, sdk: "ai-5.0.0"|"ai-5"|"ai-6.0.0"|"ai-6"|"ai-7", stream: <SSE text>, prior?, expectError?}
//   reply    {id, ok, errors: [{code, message, index?}], warnings: [...], message, chunks}
//
// `prior` is the assistant UIMessage that the stream continues. `expectError` asks for a stream
// that ends in one `error` chunk. `index` counts chunks from 0; `message` is what the chat shows
// at the end (null when the SDK refuses a chunk), `chunks` how many chunks came.
//
// Four judges in turn: framing (framing.mjs), the SDK's schema and its strict form (chunks.mjs),
// the order (ordering.mjs), and the real client (client.mjs):
//   reader-error, chat-error   the client reports an error
//   forked                     the chat shows two assistant messages for one answer
//   invalid-message            the SDK's server side would refuse the message when it comes back
//   reposts                    a stock front end would post again at once, and so for ever
//   stuck                      a stock front end would not post although everything is answered
//   error-chunk, error-expected   an `error` chunk came uninvited, or did not come
import { chatOver, readerErrors, refusal, satisfied } from './client.mjs';
import { framingProblems } from './framing.mjs';
import { Ordering } from './ordering.mjs';
import { parseChunks } from './chunks.mjs';
import { loadSdk } from './sdk.mjs';
import { serve } from './worker.mjs';

async function judge({ sdk: alias, stream, prior, expectError = false }) {
  const sdk = await loadSdk(alias);
  const { chunks, problems } = await parseChunks(sdk, stream);
  const ordering = new Ordering(prior, { reasons: !alias.startsWith('ai-5') });
  chunks.forEach(chunk => ordering.feed(chunk));
  ordering.end();
  const errors = [...framingProblems(stream), ...problems, ...ordering.problems];
  errors.push(...errorChunkProblems(ordering, expectError));
  const warnings = [...ordering.warnings];
  let message = null;
  if (!chunks.includes(null)) { // else the client stops at the refused chunk
    const client = await askClient(sdk, { chunks, stream, prior, ordering });
    errors.push(...client.errors);
    warnings.push(...client.warnings);
    message = client.message;
  }
  return { ok: errors.length === 0, errors, warnings, message, chunks: chunks.length };
}

function errorChunkProblems({ errorText }, expectError) {
  if (errorText !== undefined && !expectError) return [{ code: 'error-chunk', message: errorText }];
  if (errorText === undefined && expectError) {
    return [{ code: 'error-expected', message: 'no error chunk' }];
  }
  return [];
}

async function askClient(sdk, { chunks, stream, prior, ordering }) {
  const { errorText, finishReason } = ordering;
  const errors = [];
  const warnings = [];
  const isUnexpected = error => error.message !== errorText;
  for (const error of (await readerErrors(sdk.ai, chunks, prior)).filter(isUnexpected)) {
    errors.push({ code: 'reader-error', message: error.message });
  }
  const chat = await chatOver(sdk.ai, stream, prior);
  errors.push(...chatProblems(chat, errorText));
  if (chat.reposts !== null && chat.status === 'ready') {
    const findings = finishReason === 'tool-calls' ? warnings : errors; // it asked for a request
    findings.push({ code: 'reposts', message: chat.reposts });
  }
  const message = chat.assistants.at(-1) ?? null;
  if (message !== null && errors.length === 0) {
    const refused = await refusal(sdk, message);
    if (refused !== null) errors.push({ code: 'invalid-message', message: refused });
    if (chat.status === 'ready') errors.push(...waitingProblems(sdk.ai, message, warnings));
  }
  return { errors, warnings, message };
}

const isQuestion = part => part.type === 'data-input-request' && part.data.status === undefined;

function chatProblems({ status, error, assistants }, errorText) {
  const problems = [];
  const expected = errorText === undefined ? 'ready' : 'error';
  if (status !== expected || (error && error.message !== errorText)) {
    problems.push({ code: 'chat-error', message: `status ${status}: ${error?.message}` });
  }
  if (assistants.length > 1) {
    problems.push({ code: 'forked', message: `${assistants.length} assistant messages` });
  }
  return problems;
}

// Once a person has answered everything that waits, a stock front end must go on by itself. It
// looks only at the last step, so a call that waits in an earlier one would never be heard of. A call
// that runs a workflow which asks something waits for a message: there nothing may be posted.
function waitingProblems(ai, message, warnings) {
  const isWaiting = part => part.state === 'approval-requested'
    || (part.state === 'input-available' && !part.providerExecuted);
  if (!message.parts.some(isWaiting)) return [];
  if (message.parts.some(isQuestion)) return [];
  if (satisfied(ai, [answered(message, { tools: true })]) === null) {
    return [{ code: 'stuck', message: 'no helper is satisfied when all is answered' }];
  }
  const asks = message.parts.some(part => part.state === 'approval-requested');
  if (asks && satisfied(ai, [answered(message, { tools: false })]) === null) {
    const text = 'approvals alone do not satisfy a helper: a call beside them has no output';
    warnings.push({ code: 'sibling-waits', message: text });
  }
  return [];
}

function answered(message, { tools }) {
  const answer = part => {
    if (part.state === 'approval-requested') return { ...part, state: 'approval-responded' };
    if (part.state !== 'input-available' || part.providerExecuted || !tools) return part;
    return { ...part, state: 'output-available', output: null };
  };
  return { ...message, parts: message.parts.map(answer) };
}

await serve(judge);

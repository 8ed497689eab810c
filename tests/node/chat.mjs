// Drives the AI SDK's real chat client against a server, as a worker (see worker.mjs).
//
// A request is {id, script}; the script:
//   sdk          "ai-6.0.0" | "ai-6" | "ai-7"
//   url          the chat route, e.g. http://127.0.0.1:8000/api/chat/tour
//   steps        what the front end does, in order (below)
//   client       "plain" (default), or "react": the Chat of @ai-sdk/react (not for ai-6.0.0)
//   id           the chat id; made up when absent
//   messages     UIMessages to begin with
//   lastOnly     true: send the body of last_message.mjs instead of the whole history
//   prism        options of our own client's transport, which then takes the place of the SDK's, with its own
//                `sendWhenAnswered` and `loadMessages`; auto: [] still means none
//   headers, body   extras of every request of the transport
//   auto         sendAutomaticallyWhen: of "tools", "approvals"; both when absent, [] for none
//   clientTools  {<tool>: {output} | {errorText}}: answered as soon as they are called
//   limits       {requests: 20, seconds: 180}
//
// A step is {do: <name>, ...}. Those marked * make a request and take {headers, body, metadata}
// for it, and {cut: at} or {hold: at} for its response, where at is {chunks: n} or {bytes: n}:
// cut drops the connection there, hold delivers nothing more until stop or release. {lost: "offline" | status}
// keeps the request from the server. Each step
// waits until the chat is quiet (or held), automatic requests included.
//   send *       {text, files?, parent?}   parent: the message before it, named (null: none)
//   edit *       {message, text}   message: the id, or the index in the chat (-1: the last)
//   regenerate * {message?}
//   keep         {messages}: setMessages with only so many of the first ones
//   continue *   sendMessage() without a message, for auto: []
//   approve      {tool?, first?}   every pending approval, or those of a tool, or the first of them
//   deny         {tool?, first?, reason?}
//   output       {tool?, output} or {tool?, errorText}: answer calls that wait for the client
//   stop         the stop button
//   drop         let a held response break off; done when the client has come back
//   release      let a held response go on, to its end
//   reload       a new chat whose messages come from GET {url}/{id}/messages
//   resume *     reload, then resumeStream(); {from: "memory"}: in the same chat, without reload
//   fetch        {path, method?, body?}: a request of the app's own to {url}/{id}/{path}
//
// The reply:
//   failure      null, or why the script could not be played (a step, the limits)
//   status, error, messages   of the chat at the end
//   steps        [{do, status, error, messages, requests}]: the chat after each step, and how
//                many requests were made in it
//   requests     [{method, url, headers, body, status, responseHeaders, text}]; text is what was
//                read of the response: what a judge wants
//   finishes     [{messageId, finishReason, isAbort, isDisconnect, isError}] from onFinish
//   data         every data part that onData saw
//   errors       every error that onError saw
import { Conversation } from './conversation.mjs';
import { STEPS } from './steps.mjs';
import { serve } from './worker.mjs';

/** Seconds for a script. Never part of what is tested: a machine may be slow. */
const PATIENCE = 180;

async function play(script) {
  const seconds = script.limits?.seconds ?? PATIENCE;
  const deadline = AbortSignal.timeout(seconds * 1000);
  const conversation = await Conversation.open(script, deadline);
  const steps = [];
  let failure = null;
  for (const [index, step] of script.steps.entries()) {
    const before = conversation.wire.requests.length;
    try {
      await beforeDeadline(perform(conversation, step), deadline, seconds);
    } catch (error) {
      failure = `step ${index} (${step.do}): ${error.message}`;
    }
    const requests = conversation.wire.requests.length - before;
    steps.push({ do: step.do, ...conversation.report(), requests });
    if (failure !== null) break;
  }
  conversation.wire.release();
  const { wire: { requests }, finishes, data, errors } = conversation;
  return { failure, ...conversation.report(), steps, requests, finishes, data, errors };
}

async function perform(conversation, step) {
  if (!Object.hasOwn(STEPS, step.do)) {
    throw new Error(`no such step; expected one of ${Object.keys(STEPS).join(', ')}`);
  }
  await STEPS[step.do](conversation, step);
  // The chat keeps the refusal to itself as its own error; to a test it is a failed script.
  const refused = conversation.errors.find(error => error.includes('the client posts again'));
  if (refused !== undefined) throw new Error(refused);
}

async function beforeDeadline(work, deadline, seconds) {
  const { promise, reject } = Promise.withResolvers();
  const onAbort = () => reject(new Error(`not done after ${seconds} s`));
  deadline.addEventListener('abort', onAbort);
  try {
    await Promise.race([work, promise]);
  } finally {
    deadline.removeEventListener('abort', onAbort);
  }
}

await serve(({ script }) => play(script));

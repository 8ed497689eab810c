// The order in which a server may send chunks: a state machine over one message.
//
// The client lets much of this pass and shows a wrong message later (a part that streams for
// ever, a message in two copies), so the rules are stricter than the client. They say what a
// stream must be: `start` first and once, steps and blocks balanced, calls answered, one end.

const OUTPUT_STATES = {
  'tool-output-available': 'output-available',
  'tool-output-error': 'output-error',
  'tool-output-denied': 'output-denied',
};

// What a model call produces; the client files it under the step that is open.
const CONTENT = new Set([
  'text-start', 'reasoning-start', 'tool-input-start', 'tool-input-available',
  'tool-input-error', 'source-url', 'source-document', 'file', 'reasoning-file', 'custom',
]);

export class Ordering {
  problems = [];
  warnings = [];
  finishReason = undefined;
  errorText = undefined;
  /** Where the message is: 'new', 'open', 'aborted' or 'over'. */
  #phase = 'new';
  #step = null;
  #steps = 0;
  #blocks = new Map();
  #calls = new Map();
  #approvals = new Map();
  #index = 0;

  /**
   * `prior` is the assistant message that the stream continues, if it continues one. Releases
   * without `reasons` (ai 5) are not told by `finish` whether calls wait for the client.
   */
  constructor(prior, { reasons = true } = {}) {
    this.prior = prior;
    this.reasons = reasons;
    for (const part of prior?.parts ?? []) this.#recall(part);
  }

  #recall({ toolCallId, type, toolName, state, approval, preliminary, providerExecuted }) {
    if (toolCallId === undefined) return;
    const dynamic = type === 'dynamic-tool';
    const name = dynamic ? toolName : type.slice('tool-'.length);
    const approved = approval?.approved;
    this.#calls.set(toolCallId,
      { state, name, dynamic, approved, preliminary, providerExecuted, step: 0 });
    if (approval) this.#approvals.set(approval.id, toolCallId);
  }

  /** Take the next chunk; null stands for one that the schema refused. */
  feed(chunk) {
    if (chunk !== null) this.#take(chunk);
    this.#index += 1;
  }

  #take(chunk) {
    this.#checkPhase(chunk);
    if (CONTENT.has(chunk.type) && this.#step === null) {
      this.#fail('outside-step', `${chunk.type} outside a step`);
    }
    RULES[chunk.type]?.call(this, chunk);
  }

  #fail(code, message) { this.problems.push({ code, message, index: this.#index }); }
  #warn(code, message) { this.warnings.push({ code, message, index: this.#index }); }

  #checkPhase({ type }) {
    if (this.#phase === 'new' && type !== 'start') {
      this.#fail('before-start', `${type} before start`);
    }
    if (this.#phase !== 'new' && type === 'start') {
      this.#fail('second-start', 'start is not the first chunk');
    }
    if (this.#phase === 'over') this.#fail('after-end', `${type} after the end of the message`);
    // Reported once: what follows is judged as if the start had been there.
    if (this.#phase === 'new') this.#phase = 'open';
    if (this.#phase === 'aborted' && !['finish-step', 'finish'].includes(type)) {
      this.#fail('after-abort', `${type} after abort`);
    }
  }

  // Messages

  start({ messageId }) {
    if (messageId === undefined) {
      this.#fail('no-message-id', 'start without messageId: the client invents one');
    } else if (this.prior && messageId !== this.prior.id) {
      this.#fail('wrong-message-id', `${messageId} continues ${this.prior.id}: two messages`);
    }
  }

  finish({ finishReason }) {
    if (this.#step !== null) this.#fail('step-open', 'finish inside a step');
    this.#closeBlocks('finish');
    this.finishReason = finishReason;
    if (finishReason === undefined && this.reasons) this.#warn('no-finish-reason', 'finish without finishReason');
    if (this.#phase !== 'aborted') this.#checkCalls();
    this.#phase = 'over';
  }

  abort() {
    this.#breakOff('abort');
    this.#phase = 'aborted';
  }

  error({ errorText }) {
    this.#breakOff('error');
    this.errorText = errorText;
    this.#phase = 'over';
  }

  // The SDK's own server leaves the step open when it breaks off, so that is only a warning.
  #breakOff(where) {
    this.#closeBlocks(where);
    if (this.#step !== null) this.#warn('step-open', `${where} inside a step`);
  }

  /** Call once, after the last chunk. */
  end() {
    if (this.#phase === 'aborted' || this.#phase === 'over') return;
    this.#fail('missing-finish', 'no finish, abort or error: the client takes it for success');
    this.#closeBlocks('the end of the stream');
    if (this.#step !== null) this.#fail('step-open', 'the stream ends inside a step');
  }

  // Steps and blocks

  startStep() {
    if (this.#step !== null) this.#fail('nested-step', 'start-step inside a step');
    this.#steps += 1;
    this.#step = this.#steps;
  }

  finishStep() {
    if (this.#step === null) this.#fail('step-not-open', 'finish-step outside a step');
    this.#closeBlocks('finish-step');
    this.#step = null;
  }

  resetStep() {
    if (this.#step === null) this.#fail('step-not-open', 'reset-step outside a step');
    this.#blocks.clear();
    for (const [id, call] of this.#calls) if (call.step === this.#step) this.#calls.delete(id);
  }

  openBlock(kind, { id }) {
    const block = `${kind} ${id}`;
    if (this.#blocks.has(block)) this.#fail('block-open', `${block} is open already`);
    this.#blocks.set(block, this.#index);
  }

  growBlock(kind, { id }) {
    const block = `${kind} ${id}`;
    if (!this.#blocks.has(block)) this.#fail('block-not-open', `${kind}-delta for ${block}`);
  }

  closeBlock(kind, { id }) {
    const block = `${kind} ${id}`;
    if (!this.#blocks.delete(block)) this.#fail('block-not-open', `${kind}-end for ${block}`);
  }

  #closeBlocks(where) {
    const open = [...this.#blocks.keys()];
    if (open.length > 0) this.#fail('block-open', `${open.join(', ')} still open at ${where}`);
    this.#blocks.clear();
  }

  // Tool calls

  inputStart(chunk) {
    if (this.#calls.has(chunk.toolCallId)) {
      this.#fail('call-repeated', `${chunk.toolCallId} has begun before`);
    }
    this.#begin(chunk, 'input-streaming');
  }

  #begin({ toolCallId, toolName, dynamic, providerExecuted }, state) {
    this.#calls.set(toolCallId,
      { state, name: toolName, dynamic: dynamic ?? false, providerExecuted, step: this.#step });
  }

  inputDelta({ toolCallId }) {
    if (this.#calls.get(toolCallId)?.state !== 'input-streaming') {
      this.#fail('input-not-open', `tool-input-delta for ${toolCallId}`);
    }
  }

  inputDone(chunk, state) {
    const call = this.#calls.get(chunk.toolCallId);
    // The input takes a preliminary output back, before somebody is asked.
    if (call && call.state !== 'input-streaming' && !call.preliminary) {
      this.#fail('call-repeated', `${chunk.type} for ${chunk.toolCallId} in state ${call.state}`);
    }
    if (call && (call.name !== chunk.toolName || call.dynamic !== (chunk.dynamic ?? false))) {
      this.#fail('call-changed', `name or dynamic of ${chunk.toolCallId} changed: two parts`);
    }
    if (call && call.step !== this.#step) {
      this.#fail('call-changed', `the input of ${chunk.toolCallId} crosses steps: two parts`);
    }
    this.#begin(chunk, state);
  }

  approvalRequest({ toolCallId, approvalId }) {
    const call = this.#known('tool-approval-request', toolCallId);
    if (this.#approvals.has(approvalId)) {
      this.#fail('approval-repeated', `approval ${approvalId} was asked before`);
    }
    if (call && call.state !== 'input-available') {
      this.#fail('approval-too-early', `approval for ${toolCallId} in state ${call.state}`);
    }
    this.#approvals.set(approvalId, toolCallId);
    if (call) call.state = 'approval-requested';
  }

  approvalResponse({ approvalId, approved }) {
    const call = this.#calls.get(this.#approvals.get(approvalId));
    if (!call) return this.#fail('approval-unknown', `no approval ${approvalId} was asked`);
    Object.assign(call, { state: 'approval-responded', approved });
  }

  output({ type, toolCallId, preliminary }) {
    const call = this.#known(type, toolCallId);
    if (!call) return;
    const isDone = Object.values(OUTPUT_STATES).includes(call.state) && !call.preliminary;
    if (isDone) this.#fail('output-repeated', `${type} for ${toolCallId}, which is ${call.state}`);
    if (call.state === 'input-streaming') {
      this.#fail('output-too-early', `${type} for ${toolCallId} before its input`);
    }
    if (call.state === 'approval-requested') {
      this.#fail('output-unapproved', `${type} for ${toolCallId} before the decision`);
    }
    const isDenied = call.state === 'approval-responded' && call.approved === false;
    if (type === 'tool-output-denied' && !isDenied) {
      this.#fail('denied-undecided', `${type} for ${toolCallId}, which nobody denied`);
    }
    Object.assign(call, { state: OUTPUT_STATES[type], preliminary });
  }

  #known(type, toolCallId) {
    const call = this.#calls.get(toolCallId);
    if (!call) this.#fail('call-unknown', `${type} for ${toolCallId}`);
    return call;
  }

  #checkCalls() {
    for (const [id, call] of this.#calls) {
      if (call.state === 'input-streaming') {
        this.#fail('input-open', `the input of ${id} never ended`);
      } else if (call.state === 'approval-responded') {
        this.#fail('decision-unanswered', `no output for ${id}, which was decided`);
      } else if (call.preliminary) {
        this.#fail('call-unanswered', `${id} has only a preliminary output`);
      } else if (['input-available', 'approval-requested'].includes(call.state)) {
        this.#checkWaiting(id, call);
      }
    }
  }

  // A call may wait for the client, and the finish reason says so; the provider's own may not.
  #checkWaiting(id, { state, providerExecuted }) {
    const waits = this.finishReason === 'tool-calls' || !this.reasons;
    if (!waits) this.#fail('call-unanswered', `${id} is ${state} at finish ${this.finishReason}`);
    else if (providerExecuted && state === 'input-available') {
      this.#fail('call-unanswered', `${id} is the provider's and no client will run it`);
    }
  }
}

const RULES = {
  start: Ordering.prototype.start,
  finish: Ordering.prototype.finish,
  abort: Ordering.prototype.abort,
  error: Ordering.prototype.error,
  'start-step': Ordering.prototype.startStep,
  'finish-step': Ordering.prototype.finishStep,
  'reset-step': Ordering.prototype.resetStep,
  'tool-input-start': Ordering.prototype.inputStart,
  'tool-input-delta': Ordering.prototype.inputDelta,
  'tool-input-available'(chunk) { this.inputDone(chunk, 'input-available'); },
  'tool-input-error'(chunk) { this.inputDone(chunk, 'output-error'); },
  'tool-approval-request': Ordering.prototype.approvalRequest,
  'tool-approval-response': Ordering.prototype.approvalResponse,
  ...Object.fromEntries(Object.keys(OUTPUT_STATES).map(type => [type, Ordering.prototype.output])),
  ...Object.fromEntries(['text', 'reasoning'].flatMap(kind => [
    [`${kind}-start`, function (chunk) { this.openBlock(kind, chunk); }],
    [`${kind}-delta`, function (chunk) { this.growBlock(kind, chunk); }],
    [`${kind}-end`, function (chunk) { this.closeBlock(kind, chunk); }],
  ])),
};

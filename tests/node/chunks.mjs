// Parses a UI message stream with the SDK's own parser and schema, then with the schema made
// strict: clients before 6.0.231 and 7.0.32 refuse a chunk with a key that they do not know.
import { parseJsonEventStream } from 'ai-5'; // for 5.0.0, which keeps its own to itself
import * as z from 'zod/v4';
import { objectsFor } from './sdk.mjs';

/** Return `{chunks, problems}`; a chunk that the SDK refuses is null. */
export async function parseChunks(sdk, text) {
  const chunks = [];
  const problems = [];
  for await (const result of parsed(sdk, text)) {
    const index = chunks.length;
    problems.push(...refusals(sdk, result).map(problem => ({ ...problem, index })));
    chunks.push(result.success ? result.value : null);
  }
  return { chunks, problems };
}

function parsed({ ai, schema }, text) {
  const stream = new Blob([text]).stream();
  return (ai.parseJsonEventStream ?? parseJsonEventStream)({ stream, schema });
}

function refusals(sdk, { success, value, rawValue, error }) {
  if (success) {
    const message = explain(objectsFor(sdk, value.type).strict, value);
    return message === null ? [] : [{ code: 'unknown-key', message: `${value.type}: ${message}` }];
  }
  // The parser gives no value when the text was no JSON, or JSON that it refuses (`__proto__`).
  if (rawValue === undefined) return [{ code: 'invalid-json', message: error.message }];
  const objects = objectsFor(sdk, rawValue?.type);
  if (objects === undefined) {
    return [{ code: 'unknown-type', message: `chunk type ${JSON.stringify(rawValue?.type)}` }];
  }
  // A strict client refuses unknown keys in the same breath: say which of the two it was.
  const message = explain(objects.loose, rawValue);
  if (message !== null) return [{ code: 'invalid-chunk', message: `${rawValue.type}: ${message}` }];
  return [{ code: 'unknown-key', message: `${rawValue.type}: ${explain(objects.own, rawValue)}` }];
}

function explain(object, value) {
  const result = z.safeParse(object, value);
  if (result.success) return null;
  const one = issue => `${issue.path.join('.') || 'chunk'}: ${issue.message}`;
  return result.error.issues.map(one).join('; ');
}

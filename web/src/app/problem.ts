/** What the server says when it refuses (application/problem+json), as an error to show. */

import { PrismError as Problem, refusal as problemOf } from '@adk-prism/client';
import * as words from '../words/app';

export { Problem, problemOf };

/** How browsers and bundlers call a request that got no answer, and code that could not be loaded. */
const UNREACHED = /failed to fetch|load failed|network|import|preload/i;

export function isUnreached(error: unknown): boolean {
  return error instanceof Error && !(error instanceof Problem) && UNREACHED.test(error.message);
}

/** Say what went wrong, in a sentence, whatever was thrown. */
export function explain(error: unknown): string {
  if (error instanceof Problem) return error.status === 401 ? words.notSignedIn : error.message;
  if (isUnreached(error)) return words.serverCannotBeReached;
  return error instanceof Error ? error.message : String(error);
}

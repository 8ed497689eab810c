/** What the server says when it refuses (application/problem+json), as an error to show. */

export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly title: string,
    readonly detail: string,
  ) {
    super(detail || title);
  }
}

export async function problemOf(response: Response): Promise<Problem> {
  return readProblem(response.status, await response.text());
}

export function readProblem(status: number, body: string): Problem {
  try {
    const { title, detail } = JSON.parse(body) as Record<string, unknown>;
    return new Problem(status, text(title) || `Status ${status}`, text(detail));
  } catch {
    return new Problem(status, `Status ${status}`, body.slice(0, 400));
  }
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** How browsers and bundlers call a request that got no answer, and code that could not be loaded. */
const UNREACHED = /failed to fetch|load failed|network|import|preload/i;

export function isUnreached(error: unknown): boolean {
  return error instanceof Error && !(error instanceof Problem) && UNREACHED.test(error.message);
}

/** Say what went wrong, in a sentence, whatever was thrown. */
export function explain(error: unknown): string {
  if (error instanceof Problem) return error.status === 401 ? 'You are not signed in.' : error.message;
  if (isUnreached(error)) return 'The server cannot be reached.';
  return error instanceof Error ? error.message : String(error);
}

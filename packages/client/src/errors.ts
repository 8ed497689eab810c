/** What can go wrong with a request, as errors whose messages can be shown. */

/** The server said no. */
export class PrismError extends Error {
  override name = 'PrismError';
  readonly status: number;
  /** A word for programs: the last part of the problem's `type`, as `conflict`; empty where the server gave none. */
  readonly code: string;
  /** Seconds after which it is worth trying again, where the server says so. */
  readonly retryAfter: number | undefined;
  readonly url: string;

  constructor(message: string, about: { status: number; code?: string; retryAfter?: number; url: string }) {
    super(message);
    this.status = about.status;
    this.code = about.code ?? '';
    this.retryAfter = about.retryAfter;
    this.url = about.url;
  }
}

/**
 * Nobody answered, or the connection broke and could not be restored. The AI SDK knows it by its class and the word
 * "network".
 */
export class ConnectionError extends TypeError {
  override name = 'ConnectionError';
  readonly url: string;

  constructor(url: string, cause?: unknown) {
    super(
      `A network error: ${originOf(url)} cannot be reached. Is the server running, and does it allow pages of this origin (--allow-origin)?`,
      { cause },
    );
    this.url = url;
  }
}

/** What a status means where the server gives no reason. */
const MEANINGS: Readonly<Record<number, string>> = {
  401: 'You are not signed in.',
  403: 'You are not allowed to do this.',
  404: 'This address does not exist.',
  409: 'The conversation does not allow this now.',
  413: 'The message is too large.',
  429: 'Too many requests. Try again later.',
  502: 'The server is not available.',
  503: 'The server is not available.',
  504: 'The server is not available.',
};

/** Characters of a reason that is no problem document: a page of a proxy can be long. */
const LONGEST = 400;

/** Read why a request was refused. */
export async function refusal(response: Response, url = response.url): Promise<PrismError> {
  const { status, headers } = response;
  const body = await response.text().catch(() => '');
  const { type = '', title = '', detail = '' } = problemIn(body);
  const isPage = /^\s*</.test(body);
  const reason =
    detail ||
    title ||
    (isPage ? '' : body.slice(0, LONGEST).trim()) ||
    MEANINGS[status] ||
    `The server answered ${status}.`;
  // Nothing of ours answers like this: the address is probably wrong. A proxy whose server is away has a page, too.
  const isElsewhere = (isPage && status < 500) || (status === 404 && /^not found(\.?$|:)/i.test(reason));
  const message = isElsewhere
    ? `${url.split('?')[0]} answered ${status}: is it the address of an adk-prism server?`
    : reason;
  const after = Number(headers.get('retry-after') ?? NaN);
  return new PrismError(message, {
    status,
    code: type.split(':').at(-1) ?? '',
    url,
    ...(after >= 0 && { retryAfter: after }),
  });
}

/**
 * Return the error of an answer that is not what was asked for, as a development server gives its page for any
 * address.
 */
export function notWanted(response: Response, url: string, wanted: 'a stream' | 'JSON'): PrismError {
  const type = response.headers.get('content-type') ?? 'no content type';
  return new PrismError(
    `${originOf(url)} answered with ${type}, not with ${wanted}: is it the address of an adk-prism server?`,
    {
      status: response.status,
      url,
    },
  );
}

function problemIn(body: string): { type?: string; title?: string; detail?: string } {
  try {
    const found: unknown = JSON.parse(body);
    if (typeof found !== 'object' || found === null) return {};
    return Object.fromEntries(Object.entries(found).filter(([, value]) => typeof value === 'string'));
  } catch {
    return {};
  }
}

function originOf(url: string): string {
  return /^[a-z]+:\/\/[^/]+/i.exec(url)?.[0] ?? url.split('?')[0] ?? url;
}

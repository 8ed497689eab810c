/**
 * For a server of yours between the page and adk-prism: Next.js, SvelteKit, Nuxt, Hono, whatever has `Request` and
 * `Response`.
 */

export type ForwardOptions = {
  /** The adk-prism server's URL. */
  server: string;
  /** The path under which your server has it, as `/prism`: what is left out of the address. */
  prefix: string;
  /**
   * What tells adk-prism who asks: a token, or the header that it trusts (`--proxy-user-header`). Decide this from
   * your own session.
   */
  headers: HeadersInit;
  fetch?: typeof globalThis.fetch;
};

/** Headers of a request that are passed on. Cookies and names of users are not: they are yours to check. */
const ASKED = [
  'accept',
  'accept-language',
  'content-type',
  'idempotency-key',
  'if-none-match',
  'last-event-id',
  'range',
  'tus-resumable',
  'upload-checksum',
  'upload-length',
  'upload-metadata',
  'upload-offset',
];
/** Headers of an answer that belong to one connection, or to bytes that `fetch` has unpacked. */
const OWN = ['connection', 'content-encoding', 'content-length', 'keep-alive', 'set-cookie', 'transfer-encoding'];

/**
 * Pass a request on to adk-prism, and its answer back, streams as they come. Whoever goes away only stops reading: the
 * run goes on, and is resumed or stopped through here like everything else.
 */
export async function forward(request: Request, options: ForwardOptions): Promise<Response> {
  const { server, prefix, fetch = globalThis.fetch } = options;
  const { pathname, search } = new URL(request.url);
  const isReading = request.method === 'GET' || request.method === 'HEAD';
  // The browser sends your cookie along, whichever page asks.
  if (!isReading && /^(cross|same)-site$/.test(request.headers.get('sec-fetch-site') ?? ''))
    return problem(403, 'Pages of other sites may not use this.');
  if (!pathname.startsWith(`${prefix}/`)) return problem(404, `Only what is below ${prefix}/ is passed on.`);
  const headers = new Headers(options.headers);
  for (const name of ASKED)
    if (request.headers.has(name) && !headers.has(name)) headers.set(name, request.headers.get(name)!);
  const body = isReading ? {} : { body: request.body, duplex: 'half' };
  try {
    const url = `${server.replace(/\/+$/, '')}${pathname.slice(prefix.length)}${search}`;
    const init = {
      method: request.method,
      headers,
      signal: request.signal,
      redirect: 'manual',
      cache: 'no-store',
      ...body,
    } as RequestInit;
    return answerOf(await fetch(url, init));
  } catch (error) {
    if (request.signal.aborted) throw error;
    return problem(502, 'The server is not available.');
  }
}

function answerOf({ body, status, headers: given }: Response): Response {
  const headers = new Headers(given);
  for (const name of OWN) headers.delete(name);
  return new Response(body, { status, headers });
}

function problem(status: number, detail: string): Response {
  return new Response(JSON.stringify({ status, detail }), {
    status,
    headers: { 'content-type': 'application/problem+json' },
  });
}

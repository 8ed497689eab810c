/** Addresses of the server, relative to where the page itself lies: the same build works under any path prefix. */

const BASE = new URL('.', document.baseURI.split('#')[0]);

/** Return the absolute address of a route, given without its first slash: `api/runs`. */
export function address(path: string): string {
  return new URL(path, BASE).href;
}

/** Return a path of pieces, each encoded: `path('api', 'chat', app)`. */
export function path(...pieces: string[]): string {
  return pieces.map(encodeURIComponent).join('/');
}

/** Addresses of the server, relative to where the page itself lies: the same build works under any path prefix. */

const BASE = new URL('.', document.baseURI.split('#')[0]);

/** Return the absolute address of a route, given without its first slash: `api/runs`. */
export function address(path: string): string {
  return new URL(path, BASE).href;
}

/** Tell whether an absolute address is one of this server's. */
export function isOurs(at: string): boolean {
  return at.startsWith(BASE.href);
}

/** Return the path and query of an address of ours, as the server sees them whatever prefix it is under. */
export function routeOf(at: string): string {
  return at.slice(BASE.href.length - 1);
}

/** Return a path of pieces, each encoded: `path('api', 'chat', app)`. */
export function path(...pieces: string[]): string {
  return pieces.map(encodeURIComponent).join('/');
}

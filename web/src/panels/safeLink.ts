/** Return an address that may be followed: http and https. Anything else is text, whatever it pretends to be. */
export function safeLink(uri: string | undefined): string | null {
  if (!uri) return null;
  try {
    const { protocol, href } = new URL(uri);
    return protocol === 'http:' || protocol === 'https:' ? href : null;
  } catch {
    return null;
  }
}

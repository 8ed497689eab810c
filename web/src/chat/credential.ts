/** ADK's sign-in requests: where the person signs in, and the answer that ADK's auth handling expects. */
import * as words from '../words/chat';

type Tree = Record<string, unknown>;

export type SignIn = {
  config: Tree;
  /** Where to sign in; empty for a key or a password. */
  address: string;
  prompt: string;
};

export function signIn(request: unknown): SignIn {
  const outer = tree(request);
  const config = tree(outer.authConfig ?? outer.auth_config ?? outer);
  const credential = tree(config.exchangedAuthCredential ?? config.rawAuthCredential);
  const address = tree(credential.oauth2).authUri;
  const safe = typeof address === 'string' && /^https?:\/\//i.test(address) && URL.canParse(address) ? address : '';
  return { config, address: safe, prompt: safe ? words.redirectUrl : promptFor(credential) };
}

function promptFor(credential: Tree): string {
  return credential.authType === 'apiKey' ? words.apiKey : words.tokenOrKey;
}

/** Return the request's own config with what the person brought back. */
export function signedIn({ config, address }: SignIn, text: string): Tree {
  const credential = tree(config.exchangedAuthCredential ?? config.rawAuthCredential);
  const exchanged = address
    ? { ...credential, oauth2: { ...tree(credential.oauth2), authResponseUri: text } }
    : credential.authType === 'http'
      ? { ...credential, http: { ...tree(credential.http), credentials: { token: text } } }
      : { ...credential, apiKey: text };
  return { ...config, exchangedAuthCredential: exchanged };
}

function tree(value: unknown): Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Tree) : {};
}

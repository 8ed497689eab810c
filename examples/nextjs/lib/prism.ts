/** The adk-prism server, as this server sees it. Browsers never talk to it: they go through `app/prism`. */
import type { Connection } from '@adk-prism/client';

export const SERVER = process.env.PRISM_SERVER ?? 'http://127.0.0.1:8000';

/** What tells adk-prism who asks (`--proxy-user-header x-user`). */
export const headersOf = (user: string) => ({ 'x-user': user });

export const connectionOf = (user: string, app: string): Connection => ({ server: SERVER, app, headers: headersOf(user) });

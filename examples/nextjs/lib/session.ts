/** Who is signed in. Put your own sign-in here: Auth.js, Clerk, a cookie of your company. This one believes every name. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { cookies } from 'next/headers';
import { redirect } from 'next/navigation';

const COOKIE = 'session';
const SECRET = process.env.SESSION_SECRET ?? 'for development only';
const signature = (user: string) => createHmac('sha256', SECRET).update(user).digest('hex');

export async function signIn(user: string): Promise<void> {
  const jar = await cookies();
  // Lax: pages of other sites cannot post with it.
  jar.set(COOKIE, `${user}.${signature(user)}`, { httpOnly: true, sameSite: 'lax', path: '/' });
}

export async function currentUser(): Promise<string | undefined> {
  const [, user = '', given = ''] = /^(.+)\.(\w{64})$/.exec((await cookies()).get(COOKIE)?.value ?? '') ?? [];
  return given && timingSafeEqual(Buffer.from(given), Buffer.from(signature(user))) ? user : undefined;
}

/** Return the user; send everybody else to sign in. */
export async function requireUser(): Promise<string> {
  return (await currentUser()) ?? redirect('/sign-in');
}

/** The way of browsers to adk-prism: for people who are signed in, as themselves. Streams, files, stop and resume pass through it. */
import { forward } from '@adk-prism/client/proxy';
import { headersOf, SERVER } from '@/lib/prism';
import { currentUser } from '@/lib/session';

async function handle(request: Request): Promise<Response> {
  const user = await currentUser();
  if (!user) return Response.json({ detail: 'You are not signed in.' }, { status: 401 });
  return forward(request, { server: SERVER, prefix: '/prism', headers: headersOf(user) });
}

export { handle as DELETE, handle as GET, handle as PATCH, handle as POST };

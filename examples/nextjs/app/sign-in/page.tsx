import { redirect } from 'next/navigation';
import { signIn } from '@/lib/session';

async function enter(form: FormData): Promise<void> {
  'use server';
  const user = String(form.get('user'));
  if (!/^[\w.@-]{1,64}$/.test(user)) redirect('/sign-in');
  await signIn(user);
  redirect('/');
}

export default function SignIn() {
  return (
    <form action={enter} className="m-auto flex w-72 flex-col gap-3">
      <h1 className="text-lg font-medium">Who are you?</h1>
      <input name="user" required pattern="[\w.@\-]{1,64}" aria-label="Name" placeholder="ann" autoFocus className="rounded-md border px-3 py-2" />
      <button className="rounded-md bg-neutral-900 px-3 py-2 text-white">Sign in</button>
    </form>
  );
}

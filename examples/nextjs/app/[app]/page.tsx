import { redirect } from 'next/navigation';

/** A new chat. */
export default async function NewChat({ params }: { params: Promise<{ app: string }> }) {
  redirect(`/${(await params).app}/${crypto.randomUUID()}`);
}

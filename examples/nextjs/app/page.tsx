import { redirect } from 'next/navigation';

/** A new chat with `tour`: put your own app's name here. */
export const dynamic = 'force-dynamic';

export default function Home() {
  redirect(`/tour/${crypto.randomUUID()}`);
}

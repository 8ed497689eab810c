/** The conversations of an app, beside the one that is open. */
import Link from 'next/link';
import type { ReactNode } from 'react';
import { SquarePen } from 'lucide-react';
import { listChats } from '@adk-prism/client';
import { connectionOf } from '@/lib/prism';
import { requireUser } from '@/lib/session';

type Props = { children: ReactNode; params: Promise<{ app: string }> };

export default async function Layout({ children, params }: Props) {
  const { app } = await params;
  const user = await requireUser();
  const chats = await listChats(connectionOf(user, app));
  return (
    <>
      <nav aria-label="Conversations" className="flex w-60 shrink-0 flex-col gap-1 overflow-y-auto border-r bg-sidebar p-3 text-sm">
        <Link href={`/${app}`} prefetch={false} className="mb-2 flex items-center gap-2 rounded-md border bg-background px-3 py-2 font-medium">
          <SquarePen size={16} /> New chat
        </Link>
        {chats.map(({ id, title }) => (
          <Link key={id} href={`/${app}/${id}`} prefetch={false} className="truncate rounded-md px-3 py-1.5 hover:bg-muted">{title}</Link>
        ))}
        <p className="mt-auto px-3 pt-3 text-muted-foreground">{user}</p>
      </nav>
      {children}
    </>
  );
}

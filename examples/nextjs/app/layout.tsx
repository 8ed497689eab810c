import type { Metadata } from 'next';
import type { ReactNode } from 'react';
import './globals.css';

export const metadata: Metadata = { title: 'Chat' };

export default function Layout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body className="flex h-dvh bg-background text-foreground antialiased">{children}</body>
    </html>
  );
}

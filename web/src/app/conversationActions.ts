/** What a person does with a conversation in the list: name, pin, delete, restore. */
import type { ConversationEntry } from './catalogue';
import { send } from './request';
import { path } from './serverUrl';

type Named = Pick<ConversationEntry, 'app' | 'session' | 'user'>;

const JSON_BODY = { 'content-type': 'application/json' };

function addressOf({ app, session, user }: Named, ...more: string[]): string {
  return `${path('api', 'chat', app, session, ...more)}?${new URLSearchParams({ userId: user })}`;
}

/** Change what is given; an empty title is the first message again. */
export function change(entry: Named, given: { title?: string; pinned?: boolean }): Promise<unknown> {
  return send(addressOf(entry), { method: 'PATCH', headers: JSON_BODY, body: JSON.stringify(given) });
}

export function remove(entry: Named): Promise<unknown> {
  return send(addressOf(entry), { method: 'DELETE' });
}

export function restore(entry: Named): Promise<unknown> {
  return send(addressOf(entry, 'restore'), { method: 'POST' });
}

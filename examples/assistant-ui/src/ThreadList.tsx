/** The conversations. */
import { ThreadListItemPrimitive, ThreadListPrimitive } from '@assistant-ui/react';

export function ThreadList() {
  return (
    <ThreadListPrimitive.Root asChild>
      <nav>
        <ThreadListPrimitive.New>New chat</ThreadListPrimitive.New>
        <ThreadListPrimitive.Items components={{ ThreadListItem }} />
      </nav>
    </ThreadListPrimitive.Root>
  );
}

function ThreadListItem() {
  return (
    <ThreadListItemPrimitive.Root className="item">
      <ThreadListItemPrimitive.Trigger className="title"><ThreadListItemPrimitive.Title fallback="New chat" /></ThreadListItemPrimitive.Trigger>
      <ThreadListItemPrimitive.Delete aria-label="Delete">×</ThreadListItemPrimitive.Delete>
    </ThreadListItemPrimitive.Root>
  );
}

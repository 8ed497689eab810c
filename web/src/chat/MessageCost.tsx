/** What a message cost, where the server has a price list; of the last one also what the conversation cost. */
import { costNumber, costWords } from '../ui/tokens';
import { useActions } from './ChatContext';
import { useMessageCost } from './messageCosts';
import * as words from '../words/chat';

export function MessageCost({ message, last }: { message: string; last: boolean }) {
  const cost = useMessageCost(useActions(), message);
  if (!cost) return null;
  const all = last && cost.all !== null && cost.all !== cost.own ? ` ${words.thisConversation(costNumber(cost.all))}` : '';
  return (
    <span>
      {costWords(cost.own)}
      {all}
    </span>
  );
}

/** What a message cost, where the server has a price list; of the last one also what the conversation cost. */
import { costNumber, costWords } from '../ui/tokens';
import { useActions } from './ChatContext';
import { useMessageCost } from './messageCosts';

export function MessageCost({ message, last }: { message: string; last: boolean }) {
  const cost = useMessageCost(useActions(), message);
  if (!cost) return null;
  const all = last && cost.all !== null && cost.all !== cost.own ? ` (${costNumber(cost.all)} in this conversation)` : '';
  return (
    <span>
      {costWords(cost.own)}
      {all}
    </span>
  );
}

/** A search plan that waits, in the chat: its four answers are said, as they are from the grounding panel. */
import { useState } from 'react';
import { boxDelta, answerOf, PlanAnswers, type Decision } from './PlanAnswers';
import { useActions } from '../../chat/ChatContext';

export default function PlanRequest() {
  const { conversation, reason } = useActions();
  const [isSent, setSent] = useState(false);
  const decide = async (decision: Decision, more: string) => {
    const { values, said } = answerOf(decision, more);
    setSent(true);
    if (!(await conversation?.say(said, [], boxDelta(values)))) setSent(false);
  };
  const off = isSent ? 'Sending…' : conversation ? null : reason || 'This run is read-only.';
  return <PlanAnswers first off={off} decide={(decision, more) => void decide(decision, more)} />;
}

/** A search plan that waits, in the chat: its four answers are said, as they are from the grounding panel. */
import { useState } from 'react';
import { boxDelta } from '../../panels/grounding/updateState';
import { answerOf, PlanAnswers, type Decision } from '../../panels/grounding/PlanAnswers';
import { useActions } from '../ChatContext';
import * as words from '../../words/chat';

export default function PlanRequest() {
  const { conversation, reason } = useActions();
  const [isSent, setSent] = useState(false);
  const decide = async (decision: Decision, more: string) => {
    const { values, said } = answerOf(decision, more);
    setSent(true);
    if (!(await conversation?.say(said, [], boxDelta(values)))) setSent(false);
  };
  const off = isSent ? words.sending : conversation ? null : reason || words.runIsReadOnly;
  return <PlanAnswers first off={off} decide={(decision, more) => void decide(decision, more)} />;
}

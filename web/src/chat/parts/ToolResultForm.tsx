/** A call that waits for this device or its person: run it here, answer it by hand, or say that it failed. */
import { useState } from 'react';
import { explain } from '../../app/problem';
import { CLIENT_TOOLS } from '../clientTools';
import { useActions } from '../ChatContext';
import { readAnswer } from '../answerSchema';
import * as words from '../../words/chat';

type Props = {
  tool: string;
  call: string;
  input: unknown;
  /** Its message is being written: an answer has to wait. */
  isGrowing?: boolean;
};

export default function ToolResultForm({ tool, call, input, isGrowing = false }: Props) {
  const { conversation, reason } = useActions();
  const [text, setText] = useState('');
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const runner = Object.hasOwn(CLIENT_TOOLS, tool) ? CLIENT_TOOLS[tool] : undefined;
  const isOff = !conversation || isBusy || isGrowing;
  const give = async (answer: () => Promise<unknown>) => {
    setBusy(true);
    setProblem('');
    try {
      await answer();
      setText('');
    } catch (error) {
      setProblem(explain(error));
    }
    setBusy(false);
  };
  const run = () => give(async () => conversation?.answerCall(tool, call, await runner?.run(input)));
  return (
    <div className="ask" role="group" aria-label={words.answerTool(tool)}>
      <p>{words.toolRunsInYourBrowser}</p>
      {problem && <p className="failure">{problem}</p>}
      {runner && (
        <button type="button" className="button" data-look="primary" disabled={isOff} title={reason} onClick={run}>
          {runner.action}
        </button>
      )}
      <textarea className="field" rows={2} aria-label={words.resultOf(tool)} placeholder={words.resultTextOrJson} value={text} disabled={isOff} onChange={(event) => setText(event.target.value)} />
      <div className="row">
        <button type="button" className="button" disabled={isOff || !text.trim()} title={reason} onClick={() => give(async () => conversation?.answerCall(tool, call, readAnswer(text)))}>
          {words.sendResult}
        </button>
        <button type="button" className="button" data-look="quiet" disabled={isOff} title={reason} onClick={() => give(async () => conversation?.failCall(tool, call, problem || text.trim() || words.userDidNotProvide))}>
          {words.reportAnError}
        </button>
      </div>
    </div>
  );
}

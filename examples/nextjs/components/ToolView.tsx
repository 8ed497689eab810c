/** A call of a tool: what it is asked, what it answered, and two buttons where a person has to allow it. */
import { ChevronDown, CircleCheck, CircleX, Clock, Wrench } from 'lucide-react';
import { getToolName, type DynamicToolUIPart, type ToolUIPart } from 'ai';

type Call = ToolUIPart | DynamicToolUIPart;
type Props = { part: Call; decide: (approval: string, approved: boolean) => void };

const RUNNING = ['Running', Clock, 'animate-pulse'] as const;
const STATES: Record<Call['state'], readonly [string, typeof Clock, string]> = {
  'input-streaming': RUNNING,
  'input-available': RUNNING,
  'approval-requested': ['Awaiting approval', Clock, 'text-yellow-600'],
  'approval-responded': RUNNING,
  'output-available': ['Completed', CircleCheck, 'text-green-600'],
  'output-error': ['Error', CircleX, 'text-red-600'],
  'output-denied': ['Denied', CircleX, 'text-orange-600'],
};

export function ToolView({ part, decide }: Props) {
  const [label, Icon, colour] = STATES[part.state];
  const isAsking = part.state === 'approval-requested';
  return (
    <div className="rounded-md border text-sm" role="group" aria-label={getToolName(part)}>
      <details className="group" open={isAsking}>
        <summary className="flex list-none items-center gap-2 p-3">
          <Wrench size={16} className="text-muted-foreground" />
          <span className="font-medium">{getToolName(part)}</span>
          <span className="flex items-center gap-1 rounded-full bg-muted px-2 py-0.5 text-xs"><Icon size={14} className={colour} />{label}</span>
          <ChevronDown size={16} className="ml-auto text-muted-foreground group-open:rotate-180" />
        </summary>
        <Block title="Parameters" value={part.input} />
        <Block title={part.errorText ? 'Error' : 'Result'} value={part.errorText ?? part.output} />
      </details>
      {isAsking && (
        <div className="flex items-center justify-end gap-2 border-t p-3">
          <p className="mr-auto">Allow {getToolName(part)} to run?</p>
          <button className="rounded-md border px-3 py-1.5" onClick={() => decide(part.approval.id, false)}>Deny</button>
          <button className="rounded-md bg-primary px-3 py-1.5 text-white" onClick={() => decide(part.approval.id, true)}>Allow</button>
        </div>
      )}
    </div>
  );
}

function Block({ title, value }: { title: string; value: unknown }) {
  if (value === undefined) return null;
  return (
    <div className="space-y-2 p-3 pt-0">
      <h4 className="text-xs font-medium tracking-wide text-muted-foreground uppercase">{title}</h4>
      <pre className="overflow-x-auto rounded-md bg-muted p-3 text-xs">{typeof value === 'string' ? value : JSON.stringify(value, null, 2)}</pre>
    </div>
  );
}

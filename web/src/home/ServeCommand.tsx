/** The command that serves a folder of agents. */
import { Copy } from '../ui/Copy';

const COMMAND = 'adk-prism serve path/to/agents';

export function ServeCommand() {
  return (
    <p className="serve-command">
      Serve a folder of ADK agents: <Line text={COMMAND} label="Copy the command" />
    </p>
  );
}

/** Something to type or paste, on one line. */
export function Line({ text, label }: { text: string; label: string }) {
  return (
    <span className="connect-line">
      <code>{text}</code>
      <Copy text={text} label={label} />
    </span>
  );
}

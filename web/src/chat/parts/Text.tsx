import { Prose } from '../markdown/Prose';

/** The assistant's words, or the user's, which are shown as they were typed. */
export function Text({ text, live, plain }: { text: string; live: boolean; plain: boolean }) {
  if (!text) return null;
  return plain ? <p className="plain">{text}</p> : <Prose text={text} live={live} />;
}

/** What of a message is to be shown. */
type Marks = { replaced?: unknown; block?: unknown };
type Part = {
  type: string;
  data?: unknown;
  providerMetadata?: { prism?: Marks };
  callProviderMetadata?: { prism?: Marks };
};

/** Return the parts of a message that stand. ADK may store other text than it streamed; that was sent again since. */
export function standing<MESSAGE extends { parts: readonly unknown[] }>(message: MESSAGE): MESSAGE['parts'] {
  const parts = message.parts as readonly Part[];
  const blocks = parts.flatMap(({ type, data }) => (type === 'data-prism-replaced' ? (data as { blocks: unknown[] }).blocks : []));
  const isGone = (part: Part) => {
    const marks = (part.providerMetadata ?? part.callProviderMetadata)?.prism;
    return marks?.replaced === true || (marks?.block !== undefined && blocks.includes(marks.block));
  };
  return parts.filter((part) => part.type !== 'data-prism-replaced' && !isGone(part));
}

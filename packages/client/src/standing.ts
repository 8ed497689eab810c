/** What of a message is to be shown. */
type Marks = { replaced?: unknown; block?: unknown };
type Part = {
  type: string;
  data?: unknown;
  providerMetadata?: { prism?: Marks };
  callProviderMetadata?: { prism?: Marks };
};

const REPLACED = 'data-prism-replaced';

/**
 * Return the parts of a message that stand, in the same array where all of them do. ADK may store other text than it
 * streamed; that was sent again since.
 */
export function standing<MESSAGE extends { parts: readonly unknown[] }>(message: MESSAGE): MESSAGE['parts'] {
  const parts = message.parts as readonly Part[];
  if (!parts.some((part) => part.type === REPLACED || marksOf(part)?.replaced === true)) return parts;
  const blocks = new Set(
    parts.flatMap(({ type, data }) => (type === REPLACED ? (data as { blocks: unknown[] }).blocks : [])),
  );
  return parts.filter((part) => {
    const marks = marksOf(part);
    return (
      part.type !== REPLACED && marks?.replaced !== true && !(marks?.block !== undefined && blocks.has(marks.block))
    );
  });
}

function marksOf(part: Part): Marks | undefined {
  return (part.providerMetadata ?? part.callProviderMetadata)?.prism;
}

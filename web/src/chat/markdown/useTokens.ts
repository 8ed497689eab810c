/** Colours for code that is complete. Until they are there, and where there are none, code is plain. */
import { useEffect, useState } from 'react';
import type { Token } from './highlight';

/** Letters of code that are coloured: more would hold up the page, and nobody reads it. */
const MOST = 40_000;

/** Return the tokens of code; null for none, yet or ever. */
export function useTokens(code: string, language: string): readonly Token[] | null {
  const [found, setFound] = useState<{ code: string; tokens: Token[] | null } | null>(null);
  useEffect(() => {
    if (!language || code.length > MOST) return;
    let isWanted = true;
    void import('./highlight')
      .then(({ highlight }) => isWanted && setFound({ code, tokens: highlight(code, language) }))
      .catch(() => undefined); // The server is away, or a grammar fails: the code is there, without colours.
    return () => void (isWanted = false);
  }, [code, language]);
  return language && found?.code === code ? found.tokens : null;
}

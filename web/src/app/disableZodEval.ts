/**
 * The page's policy forbids code made from text. zod, which the AI SDK reads chunks with, would try that out and be
 * reported for it; told so beforehand, it does not. It has to be said before zod is loaded.
 */
declare global {
  var __zod_globalConfig: { jitless?: boolean } | undefined;
}

globalThis.__zod_globalConfig = { jitless: true };

export {};

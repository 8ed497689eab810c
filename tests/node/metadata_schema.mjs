// Validates messages with the AI SDK and the schemas of our client: a JSON list of lists of messages comes on stdin, and
// for each of them null, or why it is refused, goes to stdout.
import { text } from 'node:stream/consumers';
import { dataPartSchemas, messageMetadataSchema } from '../../packages/client/src/zod.ts';
import { loadSdk } from './sdk.mjs';

const { ai } = await loadSdk('ai-7');
const results = [];
for (const messages of JSON.parse(await text(process.stdin))) {
  const { success, error } = await ai.safeValidateUIMessages({ messages, dataSchemas: dataPartSchemas, metadataSchema: messageMetadataSchema });
  results.push(success ? null : String(error.message));
}
process.stdout.write(JSON.stringify(results));

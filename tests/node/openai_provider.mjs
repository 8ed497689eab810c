// The AI SDK's own provider for OpenAI reads streams of ours: [{api: "chat" | "responses", body}] on stdin.
// Prints for each the parts that an application gets, neighbours of one type once, and the errors.
import { readFileSync } from "node:fs";
import { createOpenAI } from "ai-openai";
import { streamText } from "ai-6";

const found = [];
for (const { api, body } of JSON.parse(readFileSync(0, "utf8"))) {
  const headers = { "content-type": "text/event-stream" };
  const provider = createOpenAI({ apiKey: "none", fetch: async () => new Response(body, { headers }) });
  const result = streamText({ model: provider[api]("app"), prompt: "hello", maxRetries: 0, onError: () => {} });
  const parts = [], errors = [];
  for await (const part of result.fullStream) {
    if (parts.at(-1) !== part.type) parts.push(part.type);
    if (part.type === "error") errors.push(String(part.error?.message ?? part.error?.response?.error?.message ?? part.error));
  }
  found.push({ parts, errors });
}
console.log(JSON.stringify(found));

// OpenAI's own package for JavaScript, and the AI SDK's provider for compatible servers, as clients of ours.
// Reads the base URL and the app from the command line; writes what each got, as JSON.
import { createOpenAICompatible } from "ai-openai-compatible";
import { streamText } from "ai-7";
import OpenAI from "openai";

const [baseURL, model] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
const found = {};

found.models = (await client.models.list()).data.map(({ id }) => id);

const messages = [{ role: "user", content: "first" }];
let text = "";
for await (const chunk of await client.chat.completions.create({ model, messages, stream: true }))
  text += chunk.choices[0].delta.content ?? "";
found.chat = text.trim();
messages.push({ role: "assistant", content: text }, { role: "user", content: "second" });
const whole = await client.chat.completions.create({ model, messages });
found.second = whole.choices[0].message.content.trim();

const response = await client.responses.create({ model, input: "third" });
found.response = response.output_text.trim();
const events = [];
for await (const event of await client.responses.create({
  model, input: "fourth", previous_response_id: response.id, stream: true,
})) events.push(event);
found.events = [events[0].type, events.at(-1).type];
const after = events[Math.floor(events.length / 2)].sequence_number;
const rest = [];
for await (const event of await client.responses.retrieve(events[0].response.id, {
  stream: true, starting_after: after,
})) rest.push(event);
found.resumed = JSON.stringify(rest) === JSON.stringify(events.filter((each) => each.sequence_number > after));

const provider = createOpenAICompatible({ name: "prism", baseURL, apiKey: "none" });
const result = streamText({ model: provider(model), prompt: "fifth" });
found.aiSdk = (await result.text).trim();
found.finish = await result.finishReason;

try {
  await client.chat.completions.create({ model: "nobody", messages });
} catch (error) {
  found.refused = [error.status, error.code, error.message];
}
console.log(JSON.stringify(found));

// The agent behind the TypeScript server whose output is kept here: a scripted model with four tools.
import {BaseLlm, FunctionTool, LlmAgent, LongRunningFunctionTool} from '@google/adk';
import {z} from 'zod';

const TOOLS: Record<string, string> = {approval: 'send_invoice', long: 'order_print', client: 'locate'};
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));
const said = (part: object) => ({content: {role: 'model', parts: [part]}});

class Scripted extends BaseLlm {
  constructor() {
    super({model: 'scripted'});
  }

  async *generateContentAsync(request: any): AsyncGenerator<any, void> {
    const parts = request.contents.flatMap((content: any) => content.parts ?? []);
    const asked: string = parts.findLast((part: any) => part.text)?.text ?? '';
    const answered = parts.at(-1)?.functionResponse !== undefined;
    if (asked === 'fail') throw new Error('The model is gone.');
    if (!answered && !asked.startsWith('text')) {
      await pause(80);
      yield said({functionCall: {name: TOOLS[asked] ?? 'get_weather', args: {city: 'Rome'}}});
      return;
    }
    for (const piece of ['Rain ', 'in ', 'Rome.']) {
      await pause(120);
      yield {...said({text: piece}), partial: true};
    }
    if (asked === 'text then fail') throw new Error('The model is gone.');
    yield {...said({text: 'Rain in Rome.'}), finishReason: 'STOP'};
  }

  async connect(): Promise<any> {
    throw new Error('This model has no live mode.');
  }
}

const parameters = z.object({city: z.string()});

async function getWeather({city}: any, context: any) {
  context.state.set('last_city', city);
  await pause(200);
  return {city, sky: 'rain'};
}

export const rootAgent = new LlmAgent({
  name: 'scripted',
  description: 'Answers from a script.',
  model: new Scripted(),
  instruction: 'Answer.',
  tools: [
    new FunctionTool({name: 'get_weather', description: 'Return the weather.', parameters, execute: getWeather}),
    new FunctionTool({
      name: 'send_invoice',
      description: 'Send an invoice.',
      parameters,
      requireConfirmation: true,
      execute: () => ({sent: true}),
    }),
    new LongRunningFunctionTool({
      name: 'order_print',
      description: 'Order a print.',
      parameters,
      execute: () => ({ticket: 'p-1', status: 'pending'}),
    }),
    new LongRunningFunctionTool({
      name: 'locate',
      description: "Ask the person's device where it is; its answer comes later.",
      parameters,
      execute: () => undefined,
    }),
  ],
});

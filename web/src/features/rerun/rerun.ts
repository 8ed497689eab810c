/** A message that is run again with edits: what is sent to `POST /api/runs/{run}/rerun`, and what comes back. */
import type { Json } from '@adk-prism/client/film';
import { getJson, path, postJson } from '../../app/server';

export type Difference = { status: string; agent: string; detail: string };

export type Rerun = {
  run: string;
  runs: string[];
  recorded: string[];
  warnings: string[];
  models: { recorded: number; live: number; left: number; difference?: Difference } | null;
};

/** A call of a tool whose arguments can be edited. */
export type EditedCall = { tool: string; recorded: Json };

/** What the form has. Empty texts, and texts that are as recorded, change nothing. */
export type Edits = {
  agent: string;
  instruction: string;
  model: string;
  parameters: string;
  message: string;
  call: string;
  models: string;
  tools: string;
};

/** What is as it was recorded: an edit that is the same is none. */
export type Recorded = { instruction: string; message: string; call: EditedCall | null };

/** Return the body of the request. Raise `Error`, with what is wrong in words, for a text that is not JSON. */
export function bodyOf(edits: Edits, recorded: Recorded): Record<string, unknown> {
  const { agent } = edits;
  const parameters = objectIn(edits.parameters, 'Parameters');
  const isNew = (text: string, known: string) => text.trim() !== '' && text !== known;
  const instead = recorded.call ? objectIn(edits.call, 'Arguments') : null;
  const isCall = recorded.call && instead && canonical(instead) !== canonical(recorded.call.recorded);
  return {
    wait: false,
    model: edits.model.trim(),
    models: edits.models,
    // Other arguments have no recorded result.
    tools: isCall && edits.tools === 'recorded' ? 'auto' : edits.tools,
    instructions: agent && isNew(edits.instruction, recorded.instruction) ? { [agent]: edits.instruction } : {},
    parameters: agent && parameters && Object.keys(parameters).length ? { [agent]: parameters } : {},
    message: isNew(edits.message, recorded.message) ? edits.message : '',
    calls: isCall ? [{ ...recorded.call, instead }] : [],
  };
}

function objectIn(text: string, name: string): Record<string, Json> | null {
  if (!text.trim()) return null;
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch (error) {
    throw new Error(`${name} must be JSON: ${error instanceof Error ? error.message : ''}`);
  }
  if (typeof found !== 'object' || found === null || Array.isArray(found)) {
    throw new Error(`${name} must be a JSON object, such as {"temperature": 0.2}.`);
  }
  return found as Record<string, Json>;
}

function canonical(value: Json): string {
  return JSON.stringify(value, (_, each: Json) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
}

/** Begin to run a message again; return when its first run has begun. */
export function begin(run: string, body: Record<string, unknown>, signal: AbortSignal): Promise<Rerun> {
  return postJson(`${path('api', 'runs', run)}/rerun`, body, signal);
}

/** Return what has become of it, when it is over. */
export function result(run: string, signal: AbortSignal): Promise<Rerun> {
  return getJson(`${path('api', 'runs', run)}/rerun?wait=true`, signal);
}

/** Stop the run that goes on now. */
export async function stop(run: string): Promise<void> {
  const { runs } = await getJson<Rerun>(`${path('api', 'runs', run)}/rerun`);
  await postJson(`${path('api', 'runs', runs.at(-1) ?? run)}/cancel`);
}

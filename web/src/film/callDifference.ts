/** What changed from one request to a model to the next one of the same agent. */
import type { Json } from './document';
import type { Content, ModelRequest } from './modelCalls';

export type Change = { what: string; before?: Json; after?: Json };
export type Difference = {
  /** How many messages both requests begin with. */
  same: number;
  added: (Content | null)[];
  removed: (Content | null)[];
  /** Of the instruction, the tools and the config. */
  changes: Change[];
};

export function differenceOf(before: ModelRequest, after: ModelRequest): Difference {
  const same = commonLength(before.contents, after.contents);
  return {
    same,
    added: after.contents.slice(same),
    removed: before.contents.slice(same),
    changes: [...configChanges(before.config, after.config), ...changesOf(toolsOf(before), toolsOf(after), 'tool ')],
  };
}

function configChanges(before: ModelRequest['config'], after: ModelRequest['config']): Change[] {
  return changesOf(new Map(Object.entries(before)), new Map(Object.entries(after)), '');
}

/** Return the tools by name: declared functions, and those of the model's provider by their kind. */
export function toolsOf({ tools }: ModelRequest): Map<string, Json> {
  const named = new Map<string, Json>();
  for (const tool of tools) {
    for (const [kind, value] of Object.entries(tool ?? {})) {
      if (kind !== 'functionDeclarations' || !Array.isArray(value)) named.set(kind, value);
      else for (const each of value) named.set(nameOf(each), each);
    }
  }
  return named;
}

function nameOf(declaration: Json): string {
  const name = typeof declaration === 'object' && declaration !== null && !Array.isArray(declaration) ? declaration.name : null;
  return typeof name === 'string' ? name : 'unnamed';
}

function changesOf(before: Map<string, Json | undefined>, after: Map<string, Json | undefined>, prefix: string): Change[] {
  const names = [...new Set([...before.keys(), ...after.keys()])];
  return names
    .filter((name) => !isEqual(before.get(name), after.get(name)))
    .map((name) => ({ what: prefix + name, ...(before.has(name) ? { before: before.get(name)! } : {}), ...(after.has(name) ? { after: after.get(name)! } : {}) }));
}

function commonLength(one: readonly unknown[], other: readonly unknown[]): number {
  const most = Math.min(one.length, other.length);
  let same = 0;
  while (same < most && isEqual(one[same], other[same])) same++;
  return same;
}

/** Both come from one server, which writes equal values alike. */
function isEqual(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

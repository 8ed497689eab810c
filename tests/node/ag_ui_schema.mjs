// Prints what two releases of AG-UI accept, read from their own event schemas, as the package keeps them.
//
//   node ag_ui_schema.mjs
//
// One event type a line, so that a diff shows what a release changed. `type` is left out of the keys; a key
// is optional if its schema takes a missing value.
import { readFileSync } from 'node:fs';

const RELEASES = [
  { core: 'ag-ui-core-0', load: async name => (await import(name)).EventSchemas },
  { core: 'ag-ui-core-1', load: async name => (await import(`${name}/schemas`)).EventSchema },
];

function typeOf({ type }) {
  // zod 3 and zod 4 keep a literal's value in different places.
  return type._def.value ?? type._zod.def.values[0];
}

function keysOf(shape) {
  const keys = Object.keys(shape).filter(key => key !== 'type').sort();
  const isOptional = key => shape[key].safeParse(undefined).success;
  return { required: keys.filter(key => !isOptional(key)), optional: keys.filter(isOptional) };
}

async function schemaOf({ core, load }) {
  const union = await load(core);
  const { version } = JSON.parse(readFileSync(new URL(`node_modules/${core}/package.json`, import.meta.url)));
  const events = union.options.map(({ shape }) => [typeOf(shape), keysOf(shape)]);
  const lines = events.sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([type, keys]) => `    ${JSON.stringify(type)}: ${JSON.stringify(keys)}`);
  return ` {"version":${JSON.stringify(version)},\n  "events": {\n${lines.join(',\n')}\n  }\n }`;
}

const releases = await Promise.all(RELEASES.map(schemaOf));
process.stdout.write(`[\n${releases.join(',\n')}\n]\n`);

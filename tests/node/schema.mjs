// Prints what a release of the AI SDK accepts, read from its own chunk schema.
//
//   node schema.mjs ai-7
//   {"sdk":"ai-7","version":"7.0.169","finishReasons":["stop",...],
//    "chunks":{"text-start":{"required":["id"],"optional":["providerMetadata"]},...}}
//
//   node schema.mjs all      every current release, as the package keeps them: one chunk type a line
//
// `type` is left out of the keys. Types that the SDK accepts by prefix are listed as `data-*`.
import { CURRENT, loadSdk, shapeOf } from './sdk.mjs';

function typeOf(shape) {
  return shape.type._zod.def.values?.[0] ?? 'data-*';
}

function keysOf(shape) {
  const keys = Object.keys(shape).filter(key => key !== 'type');
  const isOptional = key => shape[key]._zod.optin === 'optional';
  return {
    required: keys.filter(key => !isOptional(key)).sort(),
    optional: keys.filter(isOptional).sort(),
  };
}

function finishReasons(shapes) {
  const finish = shapes.find(shape => typeOf(shape) === 'finish');
  const { innerType } = finish.finishReason._zod.def;
  return Object.values(innerType._zod.def.entries);
}

async function schemaOf(name) {
  const { alias, version, chunkObjects } = await loadSdk(name);
  const shapes = chunkObjects.map(shapeOf);
  const chunks = Object.fromEntries(shapes.map(shape => [typeOf(shape), keysOf(shape)]));
  return { sdk: alias, version, finishReasons: finishReasons(shapes), chunks };
}

// Sorted, and a line for each chunk type, so that a diff shows what a release changed.
function page(schemas) {
  const releases = schemas.map(({ chunks, ...about }) => {
    const lines = Object.keys(chunks).sort()
      .map(type => `    ${JSON.stringify(type)}: ${JSON.stringify(chunks[type])}`);
    const head = JSON.stringify(about).slice(1, -1);
    return ` {${head},\n  "chunks": {\n${lines.join(',\n')}\n  }\n }`;
  });
  return `[\n${releases.join(',\n')}\n]`;
}

const wanted = process.argv[2];
const printed = wanted === 'all'
  ? page(await Promise.all(CURRENT.map(schemaOf)))
  : JSON.stringify(await schemaOf(wanted));
process.stdout.write(`${printed}\n`);

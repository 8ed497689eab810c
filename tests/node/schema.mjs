// Prints what a release of the AI SDK accepts, read from its own chunk schema.
//
//   node schema.mjs ai-7
//   {"sdk":"ai-7","version":"7.0.169","finishReasons":["stop",...],
//    "chunks":{"text-start":{"required":["id"],"optional":["providerMetadata"]},...}}
//
// `type` is left out of the keys. Types that the SDK accepts by prefix are listed as `data-*`.
import { loadSdk, shapeOf } from './sdk.mjs';

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

const { alias, version, chunkObjects } = await loadSdk(process.argv[2]);
const shapes = chunkObjects.map(shapeOf);
const chunks = Object.fromEntries(shapes.map(shape => [typeOf(shape), keysOf(shape)]));
process.stdout.write(
  `${JSON.stringify({ sdk: alias, version, finishReasons: finishReasons(shapes), chunks })}\n`,
);

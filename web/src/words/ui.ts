/** Words of parts that are used everywhere. */

type Value = string | number;

export const copied = 'Copied';
export const couldNotCopy = 'Could not copy';
export const copy = (id: Value) => `Copy ${id}`;
export const all = (count: Value) => `all ${count}`;
export const traceback = 'Traceback';
export const ms = (value: Value) => `${value} ms`;
export const minS = (value: Value, value2: Value) => `${value} min ${value2} s`;
export const hMin = (value: Value, value2: Value) => `${value} h ${value2} min`;
export const justNow = 'just now';
export const minAgo = (value: Value) => `${value} min ago`;
export const themCached = 'of them cached';
export const fromTools = 'from tools';
export const tokens = (value: Value) => `tokens: ${value}`;
export const costUnknownTheModel = 'cost unknown: the model has no price';
export const cost = (cost: Value) => `cost ${cost}`;

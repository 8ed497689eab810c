/** What a person typed, as the value they meant. */

/** Read JSON; anything else is an object with the text, since tools answer with objects. */
export function readAnswer(text: string): unknown {
  const trimmed = text.trim();
  try {
    return JSON.parse(trimmed) as unknown;
  } catch {
    return { result: trimmed };
  }
}

export type Schema = {
  type?: string | string[];
  title?: string;
  description?: string;
  enum?: unknown[];
  default?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
};

/** The fields of a form for a schema; null where it is no flat object of scalars. */
export function fieldsOf(schema: Schema | null | undefined): [string, Schema][] | null {
  const properties = schema?.properties;
  if (!properties) return null;
  const fields = Object.entries(properties);
  return fields.every(([, field]) => inputOf(field) !== null) ? fields : null;
}

/** How a scalar is asked for. */
export function inputOf(schema: Schema): 'number' | 'checkbox' | 'text' | 'choice' | null {
  if (Array.isArray(schema.enum)) return 'choice';
  const type = Array.isArray(schema.type) ? schema.type.find((name) => name !== 'null') : schema.type;
  switch (type) {
    case 'integer':
    case 'number':
      return 'number';
    case 'boolean':
      return 'checkbox';
    case 'string':
      return 'text';
    default:
      return null;
  }
}

/** Read a field's text as its schema wants it. */
export function readField(schema: Schema, text: string): unknown {
  switch (inputOf(schema)) {
    case 'number':
      return text === '' ? undefined : Number(text);
    case 'checkbox':
      return text === 'true';
    case 'choice':
      return schema.enum?.find((choice) => String(choice) === text);
    default:
      return text;
  }
}

/** Return what the fields of a form hold at first; with the empty name, the one field of what is no flat object. */
export function textsOf(fields: readonly [string, Schema][] | null, sample: unknown): Record<string, string> {
  if (!fields) return sample === undefined ? {} : { '': textOf(sample) };
  const given = (typeof sample === 'object' && sample !== null ? sample : {}) as Record<string, unknown>;
  return Object.fromEntries(
    fields.map(([name, field]) => [name, textOf(Object.hasOwn(given, name) ? given[name] : field.default)]),
  );
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Read a form. Where every field is wanted, an empty text is one; else it is left out. */
export function readForm(
  fields: readonly [string, Schema][],
  texts: Record<string, string>,
  keepsEmpty: boolean,
): Record<string, unknown> {
  const values = fields.map(([name, field]) => [name, readField(field, texts[name] ?? '')] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined && (keepsEmpty || value !== '')));
}

/** Read a single field: as its schema wants it, else as JSON, else as it is. */
export function readText(schema: Schema | undefined, text: string): unknown {
  if (schema && inputOf(schema)) return readField(schema, text);
  const read = readAnswer(text);
  return typeof read === 'object' && read !== null && 'result' in read && !text.trim().startsWith('{') ? text : read;
}

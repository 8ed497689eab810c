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

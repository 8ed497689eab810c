/** An answer to the agent: a form made from the schema that it asked for, or a text. */
import { useId, useState, type FormEvent } from 'react';
import { fieldsOf, inputOf, readAnswer, readField, type Schema } from '../answer';
import { useActions } from '../ChatContext';

export default function AnswerForm({ schema, onAnswer }: { schema: Schema | undefined; onAnswer: (response: unknown) => void }) {
  const { conversation, reason } = useActions();
  const fields = fieldsOf(schema);
  const [texts, setTexts] = useState<Record<string, string>>(() => initial(fields));
  const [isSent, setSent] = useState(false);
  const isOff = !conversation || isSent;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setSent(true);
    onAnswer(fields ? readForm(fields, texts) : readText(schema, texts[''] ?? ''));
  };
  const set = (name: string) => (text: string) => setTexts((before) => ({ ...before, [name]: text }));
  return (
    <form className="request-form" onSubmit={submit}>
      {fields ? (
        fields.map(([name, field]) => (
          <FormField key={name} name={name} schema={field} required={schema?.required?.includes(name) ?? false} text={texts[name] ?? ''} onChange={set(name)} />
        ))
      ) : (
        <FormField name="Your answer" schema={schema && inputOf(schema) ? schema : { type: 'string' }} required text={texts[''] ?? ''} onChange={set('')} />
      )}
      <button className="button" data-look="primary" disabled={isOff} title={reason}>
        Answer
      </button>
    </form>
  );
}

type FieldProps = { name: string; schema: Schema; required: boolean; text: string; onChange: (text: string) => void };

function FormField({ name, schema, required, text, onChange }: FieldProps) {
  const id = useId();
  const kind = inputOf(schema) ?? 'text';
  return (
    <div className="form-field">
      <label htmlFor={id}>{schema.title || name}</label>
      {kind === 'choice' ? (
        <select id={id} className="field" required={required} value={text} onChange={(event) => onChange(event.target.value)}>
          <option value="">Choose…</option>
          {schema.enum?.map((choice) => <option key={String(choice)}>{String(choice)}</option>)}
        </select>
      ) : kind === 'checkbox' ? (
        <input id={id} type="checkbox" checked={text === 'true'} onChange={(event) => onChange(String(event.target.checked))} />
      ) : (
        <input id={id} className="field" type={kind} step="any" required={required} value={text} onChange={(event) => onChange(event.target.value)} />
      )}
      {schema.description && <span className="quiet">{schema.description}</span>}
    </div>
  );
}

function initial(fields: [string, Schema][] | null): Record<string, string> {
  return Object.fromEntries((fields ?? []).map(([name, field]) => [name, field.default === undefined || field.default === null ? '' : String(field.default)]));
}

function readForm(fields: [string, Schema][], texts: Record<string, string>): Record<string, unknown> {
  const values = fields.map(([name, field]) => [name, readField(field, texts[name] ?? '')] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== undefined && value !== ''));
}

function readText(schema: Schema | undefined, text: string): unknown {
  if (schema && inputOf(schema)) return readField(schema, text);
  const read = readAnswer(text);
  return typeof read === 'object' && read !== null && 'result' in read && !text.trim().startsWith('{') ? text : read;
}

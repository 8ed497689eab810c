/** A workflow asks the person: a form made from the answer's schema, or a text. */
import { useId, useState, type FormEvent } from 'react';
import { Icon } from '../../ui/Icon';
import { Json } from '../../ui/Json';
import { fieldsOf, inputOf, readAnswer, readField, type Schema } from '../answer';
import { useActions } from '../ChatContext';

type Request = { message?: string; payload?: unknown; response_schema?: Schema; responseSchema?: Schema };
type Props = { id: string; request: unknown; isAnswered: boolean };

export function InputRequest({ id, request, isAnswered }: Props) {
  const asked = (typeof request === 'object' && request !== null ? request : {}) as Request;
  const schema = asked.response_schema ?? asked.responseSchema;
  const { conversation } = useActions();
  const answer = (response: unknown) => void conversation?.answerRequest('input', id, response);
  return (
    <div role="group" className="request" data-kind="approval" aria-label="The agent asks you">
      <p className="request-head">
        <Icon name="input" />
        <strong>{asked.message || 'The agent asks you something.'}</strong>
      </p>
      {asked.payload !== undefined && asked.payload !== null && <Json value={asked.payload} name="about" open={2} />}
      {isAnswered ? <p className="quiet">Answered.</p> : <AnswerForm schema={schema} onAnswer={answer} />}
    </div>
  );
}

function AnswerForm({ schema, onAnswer }: { schema: Schema | undefined; onAnswer: (response: unknown) => void }) {
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

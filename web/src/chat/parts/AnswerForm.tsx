/** An answer to the agent: a form made from the schema that it asked for, or a text. */
import { useEffect, useId, useState, type FormEvent, type ReactNode } from 'react';
import { fieldsOf, inputOf, readForm, readText, textsOf, type Schema } from '../answerSchema';
import { useActions, type RejectedAnswer } from '../ChatContext';

type Props = {
  schema: Schema | undefined;
  /** What the fields hold at first: a sample of what is wanted, where every field is part of the answer. */
  sample?: unknown;
  /** Why the last answer was not taken. */
  refusal: RejectedAnswer | null;
  word?: ReactNode;
  /** Further buttons. */
  children?: ReactNode;
  onAnswer: (response: unknown) => void;
};

export default function AnswerForm({ schema, sample, refusal, word = 'Answer', children, onAnswer }: Props) {
  const { conversation, reason } = useActions();
  const fields = fieldsOf(schema);
  const isSampled = sample !== undefined;
  const [texts, setTexts] = useState<Record<string, string>>(() => textsOf(fields, refusal ? refusal.given : sample));
  const [isSent, setSent] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a refusal makes the form usable again
  useEffect(() => setSent(false), [refusal]);
  const isOff = !conversation || isSent;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setSent(true);
    onAnswer(fields ? readForm(fields, texts, isSampled) : readText(schema, texts[''] ?? ''));
  };
  const set = (name: string) => (text: string) => setTexts((before) => ({ ...before, [name]: text }));
  const isRequired = (name: string, field: Schema) =>
    (schema?.required?.includes(name) ?? false) && !(isSampled && inputOf(field) === 'text');
  return (
    <form className="request-form" onSubmit={submit}>
      {fields ? (
        fields.map(([name, field]) => (
          <FormField
            key={name}
            name={name}
            schema={field}
            required={isRequired(name, field)}
            text={texts[name] ?? ''}
            onChange={set(name)}
          />
        ))
      ) : (
        <FormField
          name={isSampled ? 'Value for the tool (JSON)' : 'Your answer'}
          schema={schema && inputOf(schema) ? schema : { type: 'string' }}
          required
          text={texts[''] ?? ''}
          onChange={set('')}
        />
      )}
      {refusal && (
        <p className="failure" role="alert">
          {refusal.reason}
        </p>
      )}
      <div className="row">
        <button type="submit" className="button" data-look="primary" disabled={isOff} title={reason}>
          {word}
        </button>
        {children}
      </div>
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
        <select
          id={id}
          className="field"
          required={required}
          value={text}
          onChange={(event) => onChange(event.target.value)}
        >
          <option value="">Choose…</option>
          {schema.enum?.map((choice) => (
            <option key={String(choice)}>{String(choice)}</option>
          ))}
        </select>
      ) : kind === 'checkbox' ? (
        <input
          id={id}
          type="checkbox"
          checked={text === 'true'}
          onChange={(event) => onChange(String(event.target.checked))}
        />
      ) : (
        <input
          id={id}
          className="field"
          type={kind}
          step="any"
          required={required}
          value={text}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
      {schema.description && <span className="quiet">{schema.description}</span>}
    </div>
  );
}

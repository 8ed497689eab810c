/** An app: what it is, which model it asks, and a prompt that Enter sends. */
import { useEffect, useRef, useState, type KeyboardEvent } from 'react';
import { modelWords, titleOf, type AppEntry, type UsableApp } from '../app/catalogue';
import { startChat } from '../app/newChat';
import { linkTo } from '../app/route';
import { Icon } from '../ui/Icon';
import { KindChip } from '../ui/Kind';
import { Traceback } from '../ui/Traceback';
import { plural, readable } from '../ui/format';
import * as words from '../words/home';

/** Prompts shown at first; the rest on demand. */
const SHOWN = 5;

/** Characters on a line of the field, and most lines: a long prompt is seen whole. */
const LINE = 32;
const MOST_LINES = 5;

function rowsOf(text: string): number {
  return Math.max(1, Math.min(MOST_LINES, Math.ceil(text.length / LINE)));
}

export function AppCard({ app, isFirst }: { app: AppEntry; isFirst: boolean }) {
  if (app.error !== undefined) return <FailedApp name={app.name} error={app.error} />;
  if (app.problem !== undefined) return <UnusableApp name={app.name} problem={app.problem} />;
  return <WorkingApp app={app} isFirst={isFirst} />;
}

function FailedApp({ name, error }: { name: string; error: string }) {
  return (
    <li className="card" data-kind="error">
      <h3>
        <span title={name}>{readable(name)}</span> <KindChip kind="error">{words.failedToLoad}</KindChip>
      </h3>
      <p>{error}</p>
      <Traceback text={error} />
      <p className="quiet">{words.seeTheServerLog}</p>
    </li>
  );
}

function UnusableApp({ name, problem }: { name: string; problem: string }) {
  return (
    <li className="card" data-kind="neutral" aria-disabled="true">
      <h3>
        {name} <KindChip kind="neutral">{words.notAnApp}</KindChip>
      </h3>
      <p>{problem}</p>
    </li>
  );
}

function WorkingApp({ app, isFirst }: { app: UsableApp; isFirst: boolean }) {
  const [text, setText] = useState(app.prompts[0]?.prompt ?? '');
  const [isAll, setAll] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    // Enter on the first card starts it: no other thing on this page asks for the focus.
    if (isFirst && document.activeElement === document.body) field.current?.focus({ preventScroll: true });
  }, [isFirst]);
  const submit = (event: { preventDefault(): void }) => {
    event.preventDefault();
    startChat(app.name, text.trim());
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.nativeEvent.isComposing) submit(event);
  };
  const shown = isAll ? app.prompts : app.prompts.slice(0, SHOWN);
  return (
    <li className="card">
      <h3>
        <span title={app.name}>{titleOf(app)}</span>
        {app.models && (
          <KindChip kind={app.offline ? 'neutral' : 'text'} icon={app.offline ? 'play' : 'text'} title={app.models.join(', ')}>
            {modelWords(app)}
          </KindChip>
        )}
        {app.bundled && <span className="quiet">{words.example}</span>}
      </h3>
      <p>{app.description || words.adkApp}</p>
      <p className="quiet">
        {app.agents ? plural(app.agents.length, 'agent') : words.loadsWhenFirstUsed}
        {app.changed && ` · ${words.filesChangedLoadsAgain}`}
        {app.live && ` · ${words.textAndVoice}`}
        {' · '}
        <a href={linkTo({ kind: 'evals', app: app.name })}>{words.evalSets}</a>
      </p>
      <form className="card-form" onSubmit={submit}>
        <textarea ref={field} className="field" rows={rowsOf(text)} aria-label={words.firstMessageTo(titleOf(app))} placeholder={words.firstMessage} value={text} onChange={(event) => setText(event.target.value)} onFocus={(event) => event.target.select()} onKeyDown={onKeyDown} />
        <button className="button" data-look="primary" title={words.startEnter}>
          {words.start} <Icon name="chevron" />
        </button>
      </form>
      {shown.length > 1 && (
        <ul className="prompts" aria-label={words.promptsFor(titleOf(app))}>
          {shown.map((prompt) => (
            <li key={prompt.prompt}>
              <button type="button" title={prompt.shows} onClick={() => startChat(app.name, prompt.prompt)}>
                {prompt.prompt}
              </button>
            </li>
          ))}
          {app.prompts.length > SHOWN && (
            <li>
              <button type="button" data-more="" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
                {isAll ? words.fewer : words.more(app.prompts.length - SHOWN)}
              </button>
            </li>
          )}
        </ul>
      )}
    </li>
  );
}

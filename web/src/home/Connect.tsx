/** Connect your agent: how to serve it, and how other programs talk to it. */
import { useEffect, useId, useState } from 'react';
import { isUsable, useCatalogue } from '../app/catalogue';
import { getJson } from '../app/request';
import { Copy } from '../ui/Copy';
import { addressesOf, COMMAND, snippetsOf, type Snippet } from './connect';
import * as words from '../words/home';

export default function Connect() {
  const { apps } = useCatalogue();
  const names = apps?.filter(isUsable).map(({ name }) => name) ?? [];
  const [picked, setPicked] = useState<string | null>(null);
  const app = picked ?? names[0] ?? 'my_app';
  const id = useId();
  return (
    <div className="connect">
      <p>
        {words.serveAFolderOfAdk} <Line text={COMMAND} label={words.copyTheCommand} />
      </p>
      {names.length > 1 && (
        <p>
          <label htmlFor={id}>{words.app} </label>
          <select id={id} className="field" value={app} onChange={(event) => setPicked(event.target.value)}>
            {names.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </p>
      )}
      <dl>
        {addressesOf(app).map(([what, url]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd>
              <Line text={url} label={words.copyTheAddressFor(what)} />
            </dd>
          </div>
        ))}
      </dl>
      {snippetsOf(app).map((snippet) => (
        <SnippetView key={snippet.name} snippet={snippet} />
      ))}
      <Versions />
    </div>
  );
}

function Line({ text, label }: { text: string; label: string }) {
  return (
    <span className="connect-line">
      <code>{text}</code>
      <Copy text={text} label={label} />
    </span>
  );
}

function SnippetView({ snippet: { name, about, code } }: { snippet: Snippet }) {
  return (
    <figure className="code">
      <figcaption>
        <span>
          <strong>{name}</strong> {about}
        </span>
        <Copy text={code} label={words.copyTheSnippet(name)} />
      </figcaption>
      <pre tabIndex={0} aria-label={words.code(name)}>
        <code>{code}</code>
      </pre>
    </figure>
  );
}

type VersionAnswer = { version?: string; language_version?: string; adkPrism?: string };

function Versions() {
  const [found, setFound] = useState<VersionAnswer | null>(null);
  useEffect(() => {
    const leaving = new AbortController();
    getJson<VersionAnswer>('version', leaving.signal).then(setFound, () => {}); // Not told, then.
    return () => leaving.abort();
  }, []);
  if (!found) return null;
  return (
    <p className="quiet">
      {words.versionsLine(found.adkPrism ?? '', found.version ?? '', found.language_version ?? '')} <code>adk-prism doctor</code>.
    </p>
  );
}

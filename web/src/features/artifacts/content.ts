/** The content of artifacts: where it is, and how it may be shown. Nothing of it is ever run. */
import { call, problemOf, address, path, getJson } from '../../app/server';
import { shared } from '../../film/sharedFile';
import { present, grouped, type Film } from '../../film/film';
import { placeOf } from '../../film/joined';
import type { ArtifactAbout } from '@adk-prism/client/film';

/** Of a saved version, by its place in the run's log: the rules for files of runs hold. */
export async function savedContent(film: Film, { since, part }: ArtifactVersion, signal: AbortSignal): Promise<Blob> {
  if (shared()) throw new Error('This file does not contain the artifact.');
  const { run, cursor } = placeOf(film, since);
  const response = await call(address(path('api', 'runs', run, 'files', String(cursor), part)), { signal });
  if (!response.ok) throw await problemOf(response);
  return response.blob();
}

export type Owner = { app: string; user: string; session: string };
type Part = { text?: string; inlineData?: { data?: string; mimeType?: string } };

function addressOf({ app, user, session }: Owner, name?: string): string {
  const all = path('apps', app, 'users', user, 'sessions', session, 'artifacts');
  return name === undefined ? all : `${all}/${name.split('/').map(encodeURIComponent).join('/')}`;
}

export function namesOf(owner: Owner, signal: AbortSignal): Promise<string[]> {
  return getJson<string[]>(addressOf(owner), signal);
}

export function versionsOf(owner: Owner, name: string, signal: AbortSignal): Promise<number[]> {
  return getJson<number[]>(`${addressOf(owner, name)}/versions`, signal);
}

/** Of any version in the session's store. */
export async function storedContent(owner: Owner, name: string, version: number, signal: AbortSignal): Promise<Blob> {
  const { text, inlineData } = await getJson<Part>(`${addressOf(owner, name)}/versions/${version}`, signal);
  if (inlineData?.data === undefined && text === undefined)
    throw new Error('This version only refers to a file elsewhere.');
  if (inlineData?.data === undefined) return new Blob([text ?? ''], { type: 'text/plain' });
  const bytes = Uint8Array.from(atob(inlineData.data.replaceAll('-', '+').replaceAll('_', '/')), (char) =>
    char.charCodeAt(0),
  );
  return new Blob([bytes], { type: inlineData.mimeType ?? '' });
}

type Shown = 'image' | 'audio' | 'json' | 'text' | 'none';

const IMAGE = /^image\/(png|jpeg|gif|webp|avif)$/;
const TEXT = /^(text\/.+|image\/svg\+xml|application\/(xml|yaml|javascript|x-ndjson|.+\+(json|xml)))$/;

/** Tell how a type is shown: what a browser could run, such as HTML and SVG, is text. */
export function shownAs(type: string): Shown {
  const plain = type.split(';')[0]!.trim().toLowerCase();
  if (IMAGE.test(plain)) return 'image';
  if (plain.startsWith('audio/')) return 'audio';
  if (plain === 'application/json') return 'json';
  return TEXT.test(plain) ? 'text' : 'none';
}

/** The artifacts that had been saved at a cursor (`features/page/state.py`). */
type ArtifactVersion = Omit<ArtifactAbout, 'name'> & { since: number };
export type ArtifactView = { name: string; versions: ArtifactVersion[] };

export function artifactsAt(film: Film, at: number): ArtifactView[] {
  const saved = grouped(present(film.items.artifacts ?? [], at), ({ is }) => is.name);
  return [...saved].map(([name, items]) => ({
    name,
    versions: items.map(({ is: { name: _, ...version }, since }) => ({ ...version, since })),
  }));
}

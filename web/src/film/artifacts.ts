/** The artifacts that had been saved at a cursor (`view/artifacts.py`). */
import { present } from './bisect';
import type { ArtifactAbout } from './document';
import { grouped, type Film } from './film';

export type ArtifactVersion = Omit<ArtifactAbout, 'name'> & { since: number };
export type ArtifactView = { name: string; versions: ArtifactVersion[] };

export function artifactsAt(film: Film, at: number): ArtifactView[] {
  const saved = grouped(present(film.items.artifacts ?? [], at), ({ is }) => is.name);
  return [...saved].map(([name, items]) => ({ name, versions: items.map(({ is: { name: _, ...version }, since }) => ({ ...version, since })) }));
}

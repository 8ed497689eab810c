/** How a server is set up, as `GET /api/setup` answers. */
import { duration, plural } from '../ui/format';
import * as words from '../words/home';

export type Package = { name: string; installed: string; supported: string };

export type Capability = { name: string; summary: string; on: boolean; problem: string; without: string };

export type Setup = {
  packages: Package[];
  capabilities: Capability[];
  log: { place: string; runs: number; bytes: number; maxAge: number; maxBytes: number };
  /** Where they are; empty: the default. */
  places: { sessions: string; artifacts: string; memory: string };
  dataDir: string;
  localStorage: boolean;
  reloads: boolean;
};

/** Say which version of a package is installed. */
export function packageWords({ name, installed, supported }: Package): string {
  return `${name} ${installed}${supported && ` ${words.supported(supported)}`}`;
}

const DAY = 86_400;

/** Say how long runs are kept. */
export function ageWords(seconds: number): string {
  return seconds < 2 * DAY ? duration(seconds) : plural(Math.round(seconds / DAY), 'day');
}

/** Say where sessions, artifacts or memory are. */
export function placeWords(setup: Setup, name: keyof Setup['places'], place: string): string {
  if (place) return place;
  if (name === 'memory') return words.processLostWhenItStops;
  return setup.localStorage ? words.adkFolderOfEachApp : words.inFolder(setup.dataDir);
}

/** Words of the panel Artifacts. */

type Value = string | number;

export const artifacts = 'Artifacts';
export const artifactsAndMemories = 'Artifacts and memories';
export const filesThatAgentsAndTools = 'Files that agents and tools save in this run appear here, with every version.';
export const noArtifactsAtThisEvent = 'No artifacts at this event';
export const version = (version: Value) => `version ${version}`;
export const byAuthor = (author: Value) => `by ${author}`;
export const savedAt = 'Saved at';
export const allSessionsOfTheUser = 'all sessions of the user';
export const thisSession = 'this session';
export const otherRuns = 'From other runs';
export const countOfToday = (count: Value) => `${count}, as of today`;
export const loadingTheVersions = 'Loading the versions';
export const notThereAnyMore = 'It no longer exists.';
export const memory = 'Memory';
export const loadedAt = 'Loaded at';
export const searchTheMemories = 'Search the memories of this user';
export const searchWhatTheAppRemembers = 'Search what the app remembers';
export const search = 'Search';
export const nothingWasFound = 'Nothing was found.';
export const loadingTheArtifact = 'Loading the artifact';
export const notAvailable = (why: Value) => `Not available: ${why}`;
export const unknownType = 'unknown type';
export const noPreviewForThisType = 'No preview for this type.';
export const beginningIsShownTheDownload = 'The beginning is shown; the download has all of it.';
export const save = 'Save';
export const fileDoesNotContain = 'This file does not contain the artifact.';
export const versionOnlyRefers = 'This version only refers to a file elsewhere.';

/** What needs no other package. The other entry points are `/ai`, `/ag-ui`, `/react`, `/zod`, `/proxy` and `/assistant-ui`. */
export { deleteChat, listChats, pinChat, renameChat, restoreChat, type Chat } from './chats.ts';
export type { Connection, Resolvable } from './connection.ts';
export { ConnectionError, PrismError } from './errors.ts';
export { sendFeedback, type Feedback } from './feedback.ts';
export { follow, type ConnectionState, type ServerEvent, type Stream } from './follow.ts';
export { sendWhenAnswered } from './sendWhenAnswered.ts';
export { loadGraph } from './graph.ts';
export { filmAt, FilmStore, type Film, type FilmState } from './film.ts';
export * as studio from './studio-client.ts';

/**
 * What needs no other package. The other entry points are `/film`, `/ai`, `/ag-ui`, `/react`, `/live`, `/zod`,
 * `/proxy` and `/assistant-ui`.
 */
export {
  deleteChat,
  listChats,
  listConversations,
  listVersions,
  pinChat,
  renameChat,
  restoreChat,
  type Chat,
  type Conversation,
  type ConversationQuery,
  type ForkPoint,
  type Version,
} from './chats.ts';
export { address, json, request, type Connection, type Resolvable, type Server } from './connection.ts';
export { ConnectionError, PrismError, refusal } from './errors.ts';
export { loadFeedback, sendFeedback, type Feedback, type GivenFeedback } from './feedback.ts';
export { follow, type ConnectionState, type ServerEvent, type Stream } from './follow.ts';
export { isWaiting, sendWhenAnswered } from './sendWhenAnswered.ts';
export { loadGraph } from './graph.ts';
export { filmAt, FilmStore, loadFilm, type Film, type FilmState } from './film.ts';
export { loadSuggestions, type Suggestions } from './suggestions.ts';
export * as studio from './studio-client.ts';
export { uploadFile, type UploadedFile, type UploadOptions } from './uploads.ts';

/** The panels around the chat, in the order of their tabs. */
import type { PanelSpec } from './panel';

export const PANELS: readonly PanelSpec[] = [];

/** Where in the header bar a page shows what it is about, and what can be done there; null before the bar is there. */
import { createContext } from 'react';

export const HeaderPlace = createContext<HTMLElement | null>(null);

import { createContext } from 'react';

/** Tells whether the block around is still being written: what is costly to draw waits for its end. */
export const OpenBlock = createContext(false);

/** Tells whether the text around is still being written: diagrams wait for its end. */
export const GrowingText = createContext(false);

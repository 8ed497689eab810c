import { createContext } from 'react';

/** Tells whether the block around is still being written: what is costly to draw waits for its end. */
export const OpenBlock = createContext(false);

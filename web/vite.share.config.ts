/** Builds the same page as one script and one style sheet, which `adk-prism share` writes into a file with a run. */
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';
import { client } from './client.ts';

/** What needs a server has no place in a file that has none: chats, the list of apps, signing in, drawing diagrams. */
const SERVED =
  /[\\/]src[\\/](?:(?:app[\\/](?:Account|Palette|SignIn)|home[\\/]Home|voice[\\/]VoiceBar|workspace[\\/](?:ChatPage|ShareMenu))|features[\\/](?:captures|compare|conversations|evaluation|feedback|rerun|search|share)[\\/]\w+)\.tsx?$/;
const DRAWS = /[\\/]src[\\/]chat[\\/]markdown[\\/]drawDiagram\.ts$/;

const withoutServer: Plugin = {
  name: 'without-server',
  enforce: 'pre',
  load: (id) =>
    SERVED.test(id)
      ? 'export default () => null;'
      : DRAWS.test(id)
        ? 'export const drawDiagram = async () => null;'
        : null,
};

export default defineConfig({
  plugins: [react(), withoutServer],
  resolve: client,
  publicDir: false,
  build: {
    outDir: '../src/adk_prism/web/dist/share',
    emptyOutDir: true,
    target: 'es2023',
    cssTarget: ['chrome125', 'firefox128', 'safari17.5'],
    cssCodeSplit: false,
    modulePreload: false,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 2000,
    rolldownOptions: {
      input: 'src/main.tsx',
      output: {
        // A file that is opened from a disk can load nothing: no chunk may stay outside.
        codeSplitting: false,
        entryFileNames: 'page.js',
        assetFileNames: 'page[extname]',
      },
    },
  },
});

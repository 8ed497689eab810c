/** Builds the same page as one script and one style sheet, which `adk-prism share` writes into a file with a run. */
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { client } from './client.ts';
import { alone, lean, PURE } from './lean.ts';

export default defineConfig({
  plugins: [react(), lean(), alone()],
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
      treeshake: { manualPureFunctions: PURE },
      // Words stand where they are used: one that is used once needs no name, and files compress better.
      optimization: { inlineConst: { mode: 'all', pass: 1 } },
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

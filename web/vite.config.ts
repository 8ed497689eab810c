/** Builds the page into the Python package, which serves it and ships it in the wheel. */
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { bundled } from './bundled.ts';
import { client } from './client.ts';
import { diagramDocument } from './diagramDocument.ts';

export default defineConfig({
  plugins: [react(), diagramDocument(), bundled()],
  resolve: client,
  // Relative, so that the same build works under any path prefix and from a disk.
  base: './',
  build: {
    outDir: '../src/adk_prism/web/dist',
    emptyOutDir: true,
    target: 'es2023',
    cssTarget: ['chrome125', 'firefox128', 'safari17.5'],
    // A data: URL in CSS would need a wider policy than the page's.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 700,
    rolldownOptions: {
      // What several places share is one file: many small ones compress worse, each by itself.
      output: { codeSplitting: { groups: [{ name: 'shared', test: /[\\/]src[\\/].*\.tsx?$/, minShareCount: 3 }] } },
    },
  },
});

/** Builds the page for the browser tests, with the Vite of our own page. */
export default {
  base: './',
  build: { outDir: 'dist', emptyOutDir: true, target: 'es2023', reportCompressedSize: false, chunkSizeWarningLimit: 20_000 },
};

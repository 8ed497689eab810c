import { defineConfig } from 'vitest/config';

export default defineConfig({
  // One DOM for all files: none of them changes it.
  test: { environment: 'happy-dom', include: ['src/**/*.test.{ts,tsx}'], isolate: false, server: { deps: { inline: ['temml'] } } },
});

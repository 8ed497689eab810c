import { defineConfig } from 'vitest/config';
import { client } from './client.ts';

export default defineConfig({
  resolve: client,
  // One DOM for all files: none of them changes it.
  test: {
    environment: 'happy-dom',
    include: ['src/**/*.test.{ts,tsx}'],
    isolate: false,
    server: { deps: { inline: ['temml'] } },
  },
});

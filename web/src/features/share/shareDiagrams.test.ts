import { expect, test } from 'vitest';
import { keyOf } from '../../chat/markdown/drawings';
import { diagramsIn, withDiagrams } from './shareDiagrams';

test('diagrams are found at the margin, in lists and in quotes, and nowhere else', () => {
  const text = [
    '```mermaid\nA --> B\n```',
    '- item\n  ```mermaid\n  C --> D\n  ```',
    '> ~~~Mermaid\n> E --> F\n> ~~~',
    '```js\nmermaid\n```',
    '```mermaid\nno end',
  ].join('\n\n');
  expect(diagramsIn(text).map(keyOf)).toEqual(['A --> B', 'C --> D', 'E --> F']);
});

test('a file without diagrams is left alone', async () => {
  const film = { items: { said: [] } };
  for (const file of [
    '<p>no film</p>',
    `<script type="application/json" id="prism-film">${JSON.stringify({ film })}</script>`,
  ])
    expect(await withDiagrams(file)).toBe(file);
});

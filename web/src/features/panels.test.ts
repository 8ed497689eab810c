/** What the panels compute: differences, drawings, the strategy, links that may be followed. */
import { describe, expect, test } from 'vitest';
import { graphAt } from '../film/graph';
import { groundingAt } from './grounding/grounding';
import {
  carrying,
  ranDrawing,
  ranMoment,
  summedDrawing,
  summedMoment,
  type Link,
  type Vertex,
  labelSize,
  sizeOf,
} from './graph/drawing';
import { layoutFor, type Place } from './graph/layout';
import { treeOf } from './graph/tree';
import { strategyMarkdown } from './grounding/searchStrategy';
import { safeLink } from '../ui/format';
import { keyOf, selectionOf } from './feature';
import { diffJson, MOST } from './state/KeyEditor';
import { golden } from '../film/testFilms';

describe('differences', () => {
  test.each([
    [{ a: 1, b: 2 }, { a: 1, b: 3 }, [{ path: 'b', before: 2, after: 3 }]],
    [{ a: { b: [1, 2] } }, { a: { b: [1, 2, 3] } }, [{ path: 'a.b[2]', after: 3 }]],
    [{ a: 1 }, {}, [{ path: 'a', before: 1 }]],
    ['x', 'y', [{ path: '', before: 'x', after: 'y' }]],
    [[1], { 0: 1 }, [{ path: '', before: [1], after: { 0: 1 } }]],
    [null, {}, [{ path: '', before: null, after: {} }]],
    [{ a: 1 }, { a: 1 }, []],
  ])('%j to %j', (before, after, found) => expect(diffJson(before, after)).toEqual(found));

  test('are bounded', () => {
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`k${index}`, index]));
    expect(diffJson({}, many)).toHaveLength(MOST + 1);
  });

  test('a key by the name of a prototype is a key', () => {
    expect(diffJson(JSON.parse('{"__proto__": 1}'), JSON.parse('{"__proto__": 2}'))).toEqual([
      { path: '__proto__', before: 1, after: 2 },
    ]);
  });
});

describe('the graph', () => {
  const film = golden('workflow');
  const declared = {
    nodes: [
      { id: 'START', name: 'START', kind: 'start' },
      { id: 'tour', name: 'tour', kind: 'agent', model: 'm' },
      { id: 'tour/idle', name: 'idle', kind: 'tool', parent: 'tour' },
      { id: 'END', name: 'END', kind: 'end' },
    ],
    edges: [
      { id: 'a', from: 'START', to: 'tour', kind: 'sequence' },
      { id: 'b', from: 'tour', to: 'tour/idle', kind: 'tool' },
      { id: 'c', from: 'tour', to: 'END', kind: 'sequence' },
    ],
  };

  test('joins what ran with what is declared, each once', () => {
    const { vertices, links } = summedDrawing(film, declared);
    expect(vertices.filter(({ name }) => name === 'tour')).toEqual([
      { id: 'tour', name: 'tour', kind: 'agent', model: 'm', description: '' },
    ]);
    expect(vertices.some(({ name }) => name === 'idle')).toBe(true);
    expect(new Set(links.map(({ id }) => id)).size).toBe(links.length);
    const { traffic } = summedMoment(film, film.last);
    expect(links.filter(({ id }) => !traffic.has(id)).map(({ to }) => to)).toEqual(['idle']);
  });

  test('has keys of the state, arguments and results only where they were seen', () => {
    const seen = [...summedMoment(film, film.last).traffic.values()].flatMap(({ keys }) => keys);
    expect([...new Set(seen)].sort()).toEqual(['days', 'destination', 'plan', 'planned_trip', 'synthetic']);
    expect([...summedMoment(film, 5).traffic.values()].flatMap(({ keys }) => keys)).toEqual([]);
  });

  test('as it ran, every node is drawn, and every edge has its ends', () => {
    const { vertices, links } = ranDrawing(film);
    const ids = new Set(vertices.map(({ id }) => id));
    expect(links.every(({ from, to }) => ids.has(from) && ids.has(to))).toBe(true);
    expect(links).toHaveLength(graphAt(film, film.last).asItRan.length);
    expect(ranMoment(film, film.last).standings.get('END')?.status).toBe('finished');
  });

  test('is laid out for its room, without overlaps', () => {
    const drawing = summedDrawing(film, null);
    expect(layoutFor(drawing, { width: 2000, height: 200 }).direction).toBe('LR');
    const { direction, places } = layoutFor(drawing, { width: 300, height: 900 });
    expect(direction).toBe('TB');
    expectApart([...places.values()]);
  });

  test('as a tree, has each vertex beside what it leads to, and the end by the start', () => {
    const vertex = (id: string, kind: Vertex['kind']): Vertex => ({ id, name: id, kind, model: '', description: '' });
    const link = (from: string, to: string): Link => ({ id: `${from}>${to}`, from, to, kind: 'tool' });
    const vertices = [
      vertex('START', 'start'),
      vertex('root', 'agent'),
      vertex('END', 'end'),
      ...['a', 'b', 'c'].map((id) => vertex(id, 'agent')),
      ...['a1', 'a2', 'c1'].map((id) => vertex(id, 'tool')),
    ];
    const links = [
      link('START', 'root'),
      link('root', 'a'),
      link('root', 'b'),
      link('root', 'c'),
      link('a', 'a1'),
      link('a', 'a2'),
      link('c', 'c1'),
      link('root', 'END'),
      link('a', 'a'),
    ];
    const tree = treeOf({ vertices, links }, new Map())!;
    const { places } = tree;
    expectApart([...places.values()]);
    expect(places.get('a')!.x).toBe(places.get('c')!.x);
    expect(places.get('a1')!.x).toBeGreaterThan(places.get('a')!.x);
    expect(places.get('END')!.x).toBe(places.get('START')!.x);
    expect([...tree.ways.keys()]).toEqual(links.map(({ id }) => id));
    const small = layoutFor({ vertices, links }, { width: 330, height: 200 });
    expect(small.direction).toBe('lines');
    expectApart([...small.places.values()]);
    expect(small.width).toBeLessThan(330 / 0.85);
    expect([...small.ways.keys()]).toEqual(links.map(({ id }) => id));
    expect(small.places.get('END')!.y).toBe(small.places.get('START')!.y); // The room is too low for all lines.
    const high = layoutFor({ vertices, links }, { width: 330, height: 400 });
    expect(high.places.get('END')!.y).toBe(Math.max(...[...high.places.values()].map(({ y }) => y)));
    expect(treeOf({ vertices, links: [...links, link('b', 'a1')] }, new Map())).toBeNull();
    expect(
      treeOf(
        { vertices: [vertex('x', 'agent'), vertex('y', 'agent')], links: [link('x', 'y'), link('y', 'x')] },
        new Map(),
      ),
    ).toBeNull();
  });
});

test.each(['parallel_specialists', 'workflow', 'agent_tool', 'raw-x_recovery_capture', 'x_retried_node', 'state'])(
  'labels and nodes of %s are apart, in every room',
  (name) => {
    const film = golden(name);
    const labels = carrying(film);
    for (const drawing of [summedDrawing(film, null), ranDrawing(film)]) {
      for (const room of [
        { width: 360, height: 500 },
        { width: 600, height: 700 },
        { width: 1200, height: 500 },
        { width: 300, height: 3000 },
      ]) {
        const { places, ways } = layoutFor(drawing, room, labels);
        const boxes = drawing.links.flatMap(({ id }): Place[] => {
          const keys = labels.get(id);
          if (!keys?.length) return [];
          const { x, y, from, shown, isLine } = ways.get(id)!.label;
          const { width, height } = labelSize(keys, shown, isLine);
          return [{ x: from ? x : x - width / 2, y: y - height / 2, width, height }];
        });
        expectApart([...places.values(), ...boxes]);
      }
    }
  },
);

test('a vertex is as large as its name', () => {
  const size = (name: string) => sizeOf({ kind: 'agent', name });
  expect(size('a_name_that_is_longer_than_most_of_them').width).toBeGreaterThan(size('short').width);
  expect(size('x'.repeat(100)).height).toBeGreaterThan(size('x').height);
  expect(size('x'.repeat(100_000))).toEqual(size('x'.repeat(1000)));
});

function expectApart(boxes: Place[]): void {
  for (const [index, a] of boxes.entries()) {
    for (const b of boxes.slice(index + 1)) {
      expect(a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y).toBe(true);
    }
  }
}

test('the strategy is Markdown, in which nothing of the agent is markup', () => {
  const film = golden('made-grounding');
  const text = strategyMarkdown(groundingAt(film, 4));
  expect(text).toContain('# Search strategy');
  expect(text).toContain('| 2 | 09:01 | crossref | q |');
  expect(text).toContain('Records identified: 6, in 2 searches of 2 databases');
  const view = groundingAt(film, 4);
  const bad = { ...view, box: { research_question: '<script>alert(1)</script>\n# | [x](javascript:y)' } };
  expect(strategyMarkdown(bad)).toContain('\\<script\\>alert(1)\\</script\\> \\# \\| \\[x\\](javascript:y)');
});

test.each([
  ['https://example.org/a', 'https://example.org/a'],
  ['http://example.org', 'http://example.org/'],
  ['javascript:alert(1)', null],
  ['JaVaScRiPt:alert(1)', null],
  ['data:text/html,x', null],
  ['//example.org', null],
  ['', null],
  [undefined, null],
])('%s may be followed to %s', (uri, link) => expect(safeLink(uri)).toBe(link));

test('a key is told from a node by that name', () => {
  expect(keyOf(selectionOf('key:x'))).toBe('key:x');
  expect(keyOf('coordinator')).toBeNull();
});

import { expect, test } from 'vitest';
import type { Film } from '../../film/film';
import { joinFilms } from '../../film/joined';
import { golden, longFilm } from '../../film/testFilms';
import { axisOf, rowsOf, ticksOf, type Row, type Turn } from './rows';
import { allSteps, receiptOf, statusPassed, stepNamed, stepNumber, stepsOf, timesOf, type Step } from './steps';

const outline = (steps: readonly Step[], depth = 0): string[] =>
  steps.flatMap((step) => [
    `${'  '.repeat(depth)}${step.kind} ${step.name}${step.status === 'finished' ? '' : ` (${step.status})`}`,
    ...outline(step.children, depth + 1),
  ]);

const turn = (message: string, said = message): Turn => ({ message, said, runs: [message] });
const shown = (rows: readonly Row[]) => rows.map(lineOf);

function lineOf(row: Row): string {
  switch (row.kind) {
    case 'turn':
      return `# ${row.turn.said}`;
    case 'step':
      return `${'  '.repeat(row.depth)}${row.step.name}`;
    case 'fold':
      return `${'  '.repeat(row.depth)}${row.steps[0]!.name} ×${row.steps.length}`;
    case 'note':
      return row.words;
  }
}

const rows = (turns: Turn[], films: [string, Film][], choices: [string, boolean][] = []) =>
  rowsOf(turns, { films: new Map(films), choices: new Map(choices), focus: '' });

test('a step for each agent and tool; what a tool changes in the state stands in it', () => {
  expect(outline(stepsOf(golden('state')))).toMatchInlineSnapshot(`
    [
      "agent tour",
      "  text Text",
      "  tool note_trip",
      "    state trip, user:last_destination",
      "  text Text",
      "  tool note_budget",
      "    state trip",
      "  text Text",
    ]
  `);
});

test('of calls of one tool that ran at once, each has its own change of the state', () => {
  const film = golden('state');
  const tool = (number: number, since: number, end: number): Film['items']['nodes'][number] => ({
    ...film.items.nodes[1]!,
    index: number,
    since,
    is: {
      ...film.items.nodes[1]!.is,
      node: `n${number}`,
      name: 'write',
      call: `c${number}`,
      parent: 'n1',
      start: since,
    },
    marks: [[end, { status: 'finished', end, derived: false }]],
  });
  const key = (index: number, name: string, cursor: number): Film['items']['keys'][number] => ({
    index,
    since: cursor,
    is: { key: name },
    marks: [[cursor, { writer: 'write', value: 1 }]],
  });
  const nodes = [film.items.nodes[0]!, tool(2, 5, 8), tool(3, 6, 10), tool(4, 7, 9)];
  const keys = [key(0, 'of the first', 8), key(1, 'of the third', 9), key(2, 'of the second', 10)];
  expect(outline(stepsOf({ ...film, items: { ...film.items, nodes, keys, said: [] } }))).toEqual([
    'agent tour',
    '  tool write',
    '    state of the first',
    '  tool write',
    '    state of the second',
    '  tool write',
    '    state of the third',
  ]);
});

test('a tool that runs an agent is that agent', () => {
  expect(outline(stepsOf(golden('agent_tool')))).toMatchInlineSnapshot(`
    [
      "agent tour",
      "  text Text",
      "  agent translator",
      "    text Text",
      "  text Text",
    ]
  `);
});

test('model calls stand in their agents, in the order of time', () => {
  expect(outline(stepsOf(golden('made-model-calls')))).toMatchInlineSnapshot(`
    [
      "agent root",
      "  model model",
      "  model model",
      "  tool tool",
      "model model (failed)",
    ]
  `);
});

test('an approval is a step inside of its answer, and never splits it', () => {
  const joined = joinFilms([golden('approval'), { ...golden('approval.2'), run: 'run-2' }]);
  expect(outline(stepsOf(joined))).toMatchInlineSnapshot(`
    [
      "agent tour",
      "  text Text",
      "  tool send_invoice",
      "  approval Approval of send_invoice",
      "  text Text",
    ]
  `);
});

test('when the conversation has gone on with a message, an approval waits for nobody; other questions still do', () => {
  const standing = (film: Film) => allSteps(film).map((step) => `${step.name}: ${statusPassed(film, step)}`);
  const film = golden('approval');
  expect(standing(film)).toEqual([
    'tour: finished',
    'Text: finished',
    'send_invoice: answered',
    'Approval of send_invoice: answered',
  ]);
  const waits = film.items.waits.map((wait) => ({ ...wait, is: { ...wait.is, kind: 'input' as const } }));
  expect(standing({ ...film, items: { ...film.items, waits } })).toContain('tour: waiting');
});

test('what failed says so', () => {
  expect(outline(stepsOf(golden('tool_error'))).filter((line) => line.includes('(failed)')).length).toBeGreaterThan(0);
  expect(outline(stepsOf(golden('exception')))).toMatchInlineSnapshot(`
    [
      "agent tour (failed)",
      "  text Text",
      "  tool always_fail (failed)",
    ]
  `);
});

test('every golden film has steps, each once and by its name', () => {
  for (const name of ['workflow', 'parallel_specialists', 'sources', 'x_retried_node', 'raw-x_recovery_capture']) {
    const film = golden(name);
    const steps = allSteps(film);
    expect(steps.length, name).toBeGreaterThan(0);
    expect(new Set(steps.map(({ id }) => id)).size, name).toBe(steps.length);
    for (const step of steps) expect(stepNamed(film, step.id)).toBe(step);
    expect(stepNumber(film, film.last)).toEqual({ number: steps.length, of: steps.length });
  }
});

test('a divider for each message; what is not loaded says so; what is closed is closed', () => {
  const film = golden('agent_tool');
  const turns = [turn('one'), turn('two')];
  expect(shown(rows(turns, [['two', film]])).slice(0, 3)).toEqual(['# one', 'Loading…', '# two']);
  expect(shown(rows(turns, [['two', film]], [['one', false]])).slice(0, 2)).toEqual(['# one', '# two']);
  expect(
    shown(
      rows(
        turns,
        [['two', film]],
        [
          ['one', false],
          ['two', false],
        ],
      ),
    ),
  ).toEqual(['# one', '# two']);
  const many = Array.from({ length: 20 }, (_, index) => turn(`m${index}`));
  expect(rows(many, []).filter((row) => row.kind === 'turn' && row.isOpen)).toHaveLength(5);
});

test('repeats fold to one line, and open', () => {
  const long = longFilm(30);
  const film = { ...long, items: { ...long.items, said: [] } };
  const closed = rows([turn('m')], [['m', film]]);
  expect(shown(closed).some((line) => /step ×6/.test(line))).toBe(true);
  const fold = closed.find((row) => row.kind === 'fold')!;
  expect(rows([turn('m')], [['m', film]], [[fold.key, true]]).length).toBe(closed.length + 6);
});

test('ten thousand steps are laid out in a moment', () => {
  const film = longFilm(10_000);
  const began = process.cpuUsage(); // What others do on the machine is not counted.
  expect(rows([turn('m')], [['m', film]]).length).toBeGreaterThan(1000);
  expect(process.cpuUsage(began).user / 1000).toBeLessThan(300);
});

test('what a person took to answer is cut short on the axis', () => {
  const first = golden('approval');
  const later = { ...golden('approval.2'), run: 'run-2', start: first.start! + 3600 };
  const axis = axisOf(joinFilms([first, later]));
  expect(axis.total).toBeLessThan(1_000_000);
  const places = joinFilms([first, later]).times.map(axis.place);
  expect([...places].sort((a, b) => a - b)).toEqual(places);
  expect(places.at(-1)).toBeCloseTo(1);
  expect(ticksOf({ place: () => 0, total: 6_800_000 })).toEqual([2_000_000, 4_000_000, 6_000_000]);
});

test('what a person took to answer is no work of a step, of the steps around it, or of the answer', () => {
  const first = golden('approval');
  const film = joinFilms([first, { ...golden('approval.2'), run: 'run-2', start: first.start! + 3600 }]);
  const receipt = receiptOf(film);
  expect(receipt.seconds).toBeLessThan(1);
  expect(receipt.waited).toBeGreaterThan(3598);
  const waiting = allSteps(film).find(({ kind }) => kind === 'approval')!;
  expect(timesOf(film, waiting).worked / 1e6).toBeGreaterThan(3598);
  for (const step of allSteps(film)) {
    if (step.kind !== 'approval') expect(timesOf(film, step).worked / 1e6, step.name).toBeLessThan(1);
    for (const inner of step.children) expect(inner.end, inner.name).toBeLessThanOrEqual(step.end);
  }
});

test('the receipt counts what an answer took', () => {
  expect(receiptOf(golden('made-model-calls'))).toMatchInlineSnapshot(`
    {
      "cost": undefined,
      "failures": 0,
      "modelCalls": 3,
      "seconds": 4.5,
      "tokens": 0,
      "tools": 1,
      "waited": 0,
    }
  `);
});

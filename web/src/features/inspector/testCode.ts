/** A step as the code of a test: a pytest function that calls the tool, or asks the agent, and expects the same. */
import type { Json } from '@adk-prism/client/film';
import { address, path } from '../../app/server';
import { saidAt } from '../../film/conversation';
import type { Film } from '../../film/film';
import { placeOf } from '../../film/joined';
import type { Step } from '../tree/steps';
import { inputOf, outputOf } from './stepDetails';

/** Letters of an answer that a test expects. */
const LONGEST_EXPECTED = 120;

/**
 * Return Python code that states what a step did. Of a tool it calls the function; else it runs the agent with the
 * recorded models. `isLater`: other messages came before.
 */
export function testOf(film: Film, step: Step, isLater = false): string {
  const name = step.name.replaceAll(/\W+/g, '_').toLowerCase();
  const [given] = inputOf(film, step);
  const [came] = outputOf(film, step);
  if (step.kind === 'tool' && isObject(given?.value) && came) {
    return [
      `from ${film.app || 'app'}.agent import ${step.name}  # where the tool is defined`,
      '',
      '',
      `def test_${name}() -> None:`,
      `    """As recorded in ${placeOf(film, step.since).run}."""`,
      `    assert ${step.name}(**${python(given.value)}) == ${python(came.value)}`,
      '',
    ].join('\n');
  }
  const { run } = placeOf(film, step.since);
  const asked = film.items.said.find(({ is }) => is.kind === 'user');
  const message = asked ? String(saidAt(asked, Infinity).text ?? '') : '';
  const said = typeof came?.value === 'string' ? came.value.trim().split('\n')[0]!.slice(0, LONGEST_EXPECTED) : '';
  const file = `${name}.jsonl`;
  return [
    '# Models are answered from the recording: no key is needed. Save it beside this test:',
    `#   curl -o ${file} '${address(path('api', 'runs', run, 'recording'))}?modelCalls=true'`,
    ...(isLater
      ? ['# This message followed others, which the recording lacks: say them first, and use pytest --adk-record.']
      : []),
    'import asyncio',
    '',
    'import pytest',
    'from google.adk.runners import InMemoryRunner',
    `from ${film.app || 'app'}.agent import root_agent`,
    '',
    '',
    `@pytest.mark.adk_recording(${python(file)})`,
    `def test_${name}() -> None:`,
    `    """As recorded in ${run}."""`,
    '    runner = InMemoryRunner(root_agent)',
    `    events = asyncio.run(runner.run_debug(${python(message)}, quiet=True))`,
    '    texts = [part.text or "" for event in events if event.content for part in event.content.parts or []]',
    `    assert any(${python(said)} in text for text in texts)`,
    '',
  ].join('\n');
}

function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Write a value as Python does. */
export function python(value: Json): string {
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (Array.isArray(value)) return `[${value.map(python).join(', ')}]`;
  if (typeof value === 'object')
    return `{${Object.entries(value)
      .map(([key, each]) => `${JSON.stringify(key)}: ${python(each)}`)
      .join(', ')}}`;
  return JSON.stringify(value);
}

/** A step as the code of a test: a pytest function that calls the tool, or asks the agent, and expects the same. */
import type { Json } from '@adk-prism/client/film';
import type { Film } from '../../film/film';
import { placeOf } from '../../film/joined';
import type { Step } from '../tree/steps';
import { inputOf, outputOf } from './stepDetails';

/** Return Python code that states what a step did. Of a tool it calls the function; else it replays the recorded run. */
export function testOf(film: Film, step: Step): string {
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
  return [
    `# Recorded tools and models: no model is called. Save the run first: adk-prism eval-set ${run} -o set.evalset.json`,
    'from google.adk.evaluation.agent_evaluator import AgentEvaluator',
    '',
    '',
    `async def test_${name}() -> None:`,
    `    await AgentEvaluator.evaluate("${film.app}", "set.evalset.json")`,
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

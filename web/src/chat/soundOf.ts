/** The raw sound of a run that is over, read from its stream again. */
import { address, path } from '../app/base';
import { problemOf } from '../app/problem';
import type { PrismDataParts } from './prism';

export async function fetchSound(run: string): Promise<PrismDataParts['pcm'][]> {
  const response = await fetch(address(`${path('api', 'runs', run, 'stream')}?as=ai-sdk&dialect=7`));
  if (!response.ok) throw await problemOf(response);
  const found: PrismDataParts['pcm'][] = [];
  for (const line of (await response.text()).split('\n')) {
    if (!line.startsWith('data:') || !line.includes('"data-pcm"')) continue;
    found.push((JSON.parse(line.slice(5)) as { data: PrismDataParts['pcm'] }).data);
  }
  return found;
}

/** How sure a proof is: a percentage, or a level; empty where it says neither. */
import type { PrismProof } from '@adk-prism/client/ai';
import { share } from '../ui/format';

export function confidenceWords({ confidence, level }: Pick<PrismProof, 'confidence' | 'level'>): string {
  return confidence === null ? (level ?? '') : share(confidence);
}

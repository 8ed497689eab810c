/** How sure a proof is: a percentage, or a level; empty where it says neither. */
import type { PrismProof } from '@adk-prism/client/ai';

export function confidenceWords({ confidence, level }: Pick<PrismProof, 'confidence' | 'level'>): string {
  return confidence === null ? (level ?? '') : `${Math.round(confidence * 100)} %`;
}

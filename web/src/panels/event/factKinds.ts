/** The hue of each fact; what is not named is neutral. */
import type { Kind } from '../../ui/Kind';

const KINDS: Record<Exclude<Kind, 'neutral'>, readonly string[]> = {
  text: ['BlockBegan', 'BlockGrew', 'BlockEnded', 'InputTranscribed', 'UserSpoke'],
  reasoning: [],
  tool: ['CallInputGrew', 'CallRequested', 'CallDelegated', 'CallAnswered', 'CallPending', 'CallAbandoned', 'CodeShown', 'CodeResultShown'],
  approval: ['ApprovalRequested', 'ApprovalDecided', 'InputRequested', 'CallDenied', 'Interrupted'],
  state: ['StateChanged', 'ArtifactSaved'],
  proof: ['SourceCited', 'SourcesLinked', 'CitationsGiven', 'ProofGiven'],
  media: ['FileShown', 'AudioHeard'],
  error: ['ErrorRaised', 'CallFailed', 'Unrecognised'],
};

const BY_FACT = new Map(Object.entries(KINDS).flatMap(([kind, facts]) => facts.map((fact): [string, Kind] => [fact, kind as Kind])));

export function kindOfFact(fact: string): Kind {
  return BY_FACT.get(fact) ?? 'neutral';
}

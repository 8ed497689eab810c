/** A passage in the graph, and the keys of the state that went along it. */
import { BaseEdge, EdgeLabelRenderer, getBezierPath, type Edge, type EdgeProps } from '@xyflow/react';
import { memo } from 'react';
import type { EdgeKind } from '../../film/graph';

export type PassageData = {
  kind: EdgeKind;
  count: number;
  /** Those that its source wrote come first. */
  keys: string[];
  running: boolean;
  /** The key that is hovered or selected. */
  lit: string | null;
  hover(key: string | null): void;
  pick(key: string): void;
};
export type PassageEdgeType = Edge<PassageData, 'passage'>;

const SHOWN = 2;

export const PassageEdge = memo(function PassageEdge(props: EdgeProps<PassageEdgeType>) {
  const { data, id } = props;
  const [path, x, y] = getBezierPath(props);
  if (!data) return null;
  const { keys, lit } = data;
  const carries = lit !== null && keys.includes(lit);
  // What is lit is named, also where it is not among the first.
  const shown = carries && !keys.slice(0, SHOWN).includes(lit) ? [...keys.slice(0, SHOWN - 1), lit] : keys.slice(0, SHOWN);
  return (
    <>
      <BaseEdge id={id} path={path} className="passage" interactionWidth={0} />
      {keys.length > 0 && (
        <EdgeLabelRenderer>
          <div className="carried nodrag nopan" data-kind="state" data-lit={carries || undefined} style={{ transform: `translate(-50%, -50%) translate(${x}px, ${y}px)` }}>
            {shown.map((key) => (
              <button
                key={key}
                type="button"
                data-lit={key === lit || undefined}
                onMouseEnter={() => data.hover(key)}
                onMouseLeave={() => data.hover(null)}
                onFocus={() => data.hover(key)}
                onBlur={() => data.hover(null)}
                onClick={() => data.pick(key)}
              >
                {key}
              </button>
            ))}
            {keys.length > shown.length && <span title={keys.join('\n')}>+{keys.length - shown.length}</span>}
          </div>
        </EdgeLabelRenderer>
      )}
    </>
  );
});

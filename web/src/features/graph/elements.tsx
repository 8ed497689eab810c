/** One agent, tool or step in the graph. */
import {
  Handle,
  Position,
  type Node,
  type NodeProps,
  BaseEdge,
  EdgeLabelRenderer,
  type Edge,
  type EdgeProps,
} from '@xyflow/react';
import { memo } from 'react';
import { Icon, type IconName } from '../../ui/Icon';
import type { Kind } from '../../ui/Kind';
import { duration, number } from '../../ui/format';
import type { Standing, Vertex } from './drawing';
import type { Direction, Point, Way } from './layout';
import type { EdgeKind } from '../../film/graph';

/** A passage in the graph, and the keys that went along it. */
export type EdgeData = {
  kind: EdgeKind;
  way: Way;
  count: number;
  /** Those that its source wrote come first. */
  keys: string[];
  running: boolean;
  /** The key that is hovered or selected. */
  lit: string | null;
  hover(key: string | null): void;
  pick(key: string): void;
};
export type EdgeViewType = Edge<EdgeData, 'passage'>;

export const EdgeView = memo(function EdgeView(props: EdgeProps<EdgeViewType>) {
  const { data, id, markerEnd } = props;
  if (!data) return null;
  const { x, y, from: isBeside, shown: room, isLine } = data.way.label;
  const { keys, lit } = data;
  const carries = lit !== null && keys.includes(lit);
  // What is lit is named, also where it is not among the first.
  const shown = carries && !keys.slice(0, room).includes(lit) ? [...keys.slice(0, room - 1), lit] : keys.slice(0, room);
  return (
    <>
      <BaseEdge
        id={id}
        path={curveOf(data.way.points)}
        markerEnd={markerEnd}
        className="passage"
        interactionWidth={0}
      />
      {keys.length > 0 && (
        <EdgeLabelRenderer>
          <div
            className="carried nodrag nopan"
            data-kind="state"
            data-lit={carries || undefined}
            data-line={isLine || undefined}
            style={{ transform: `translate(${isBeside ? '0' : '-50%'}, -50%) translate(${x}px, ${y}px)` }}
          >
            {shown.map((key) => (
              <button
                key={key}
                type="button"
                data-lit={key === lit || undefined}
                title={key}
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

/** A curve along a way: through the middles of its pieces, bent at its points. */
export function curveOf(way: readonly Point[]): string {
  const [first, ...rest] = way;
  const last = rest.at(-1);
  if (!first || !last) return '';
  const bends = rest.slice(0, -1).map((point, index) => {
    const next = rest[index + 1]!;
    return `Q${point.x},${point.y} ${(point.x + next.x) / 2},${(point.y + next.y) / 2}`;
  });
  return [`M${first.x},${first.y}`, ...bends, `L${last.x},${last.y}`].join(' ');
}

export type VertexData = {
  vertex: Vertex;
  standing: Standing | null;
  direction: Direction;
  later: boolean;
  picked: boolean;
};
export type NodeViewType = Node<VertexData, 'vertex'>;

const ICONS: Record<Vertex['kind'], IconName> = {
  start: 'play',
  end: 'check',
  agent: 'agent',
  tool: 'tool',
  toolset: 'tool',
  workflow: 'branch',
  function: 'code',
  join: 'branch',
  node: 'neutral',
};

const STATUS: Record<string, { kind: Kind; icon: IconName }> = {
  running: { kind: 'text', icon: 'play' },
  finished: { kind: 'neutral', icon: 'check' },
  failed: { kind: 'error', icon: 'error' },
  waiting: { kind: 'approval', icon: 'clock' },
  cancelled: { kind: 'neutral', icon: 'cross' },
  incomplete: { kind: 'neutral', icon: 'cross' },
};

export const NodeView = memo(function NodeView({ data }: NodeProps<NodeViewType>) {
  const { vertex, standing, direction, later, picked } = data;
  const end = vertex.kind === 'start' || vertex.kind === 'end';
  const status = standing ? standing.status : later ? 'later' : 'did not run';
  const look = STATUS[status];
  return (
    <div
      className="vertex"
      data-kind={look?.kind ?? 'neutral'}
      data-status={status}
      data-node={vertex.kind}
      data-line={direction === 'lines' || undefined}
      data-picked={picked || undefined}
      title={titleOf(vertex)}
    >
      <Handle type="target" position={direction === 'TB' ? Position.Top : Position.Left} isConnectable={false} />
      <span className="what">
        <Icon name={ICONS[vertex.kind] ?? 'neutral'} />
        <b>{vertex.name}</b>
        {standing && standing.runs > 1 && <span className="runs">×{number(standing.runs)}</span>}
      </span>
      {!end && (
        <span className="how">
          {look && <Icon name={look.icon} />}
          <span className="word">{status}</span>
          {standing && standing.failures > 0 && standing.status !== 'failed' && (
            <span>{`${standing.failures} failed`}</span>
          )}
          {standing && <span className="took">{duration(standing.duration)}</span>}
        </span>
      )}
      <Handle type="source" position={direction === 'TB' ? Position.Bottom : Position.Right} isConnectable={false} />
    </div>
  );
});

function titleOf({ name, model, description }: Vertex): string {
  return [name, model, description].filter(Boolean).join('\n');
}

/** One agent, tool or step in the graph. */
import { Handle, Position, type Node, type NodeProps } from '@xyflow/react';
import { memo } from 'react';
import { Icon, type IconName } from '../../ui/Icon';
import type { Kind } from '../../ui/Kind';
import { duration } from '../../ui/format';
import type { Standing, Vertex } from './drawing';
import type { Direction } from './layout';
import * as words from '../../words/graph';

export type VertexData = { vertex: Vertex; standing: Standing | null; direction: Direction; later: boolean; picked: boolean };
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
  const status = standing ? standing.status : later ? 'later' : words.didNotRunState;
  const look = STATUS[status];
  return (
    <div className="vertex" data-kind={look?.kind ?? 'neutral'} data-status={status} data-node={vertex.kind} data-line={direction === 'lines' || undefined} data-picked={picked || undefined} title={titleOf(vertex)}>
      <Handle type="target" position={direction === 'TB' ? Position.Top : Position.Left} isConnectable={false} />
      <span className="what">
        <Icon name={ICONS[vertex.kind] ?? 'neutral'} />
        <b>{vertex.name}</b>
        {standing && standing.runs > 1 && <span className="runs">×{standing.runs}</span>}
      </span>
      {!end && (
        <span className="how">
          {look && <Icon name={look.icon} />}
          <span className="word">{status}</span>
          {standing && standing.failures > 0 && standing.status !== 'failed' && <span>{words.failed(standing.failures)}</span>}
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

/** The run as a graph: who led to whom, how it went, and which keys of the state went along. */
import { Background, Controls, MarkerType, Position, ReactFlow, ReactFlowProvider, useReactFlow } from '@xyflow/react';
import '@xyflow/react/dist/base.css';
import { useEffect, useMemo, useRef, useState } from 'react';
import { useRoute } from '../../app/route';
import { useAppGraph } from '../../film/appGraph';
import type { Film } from '../../film/film';
import { Empty } from '../../ui/Empty';
import { PanelHeader } from '../../ui/PanelHeader';
import { plural } from '../../ui/time';
import '../panels.css';
import type { PanelProps } from '../panel';
import { keyOf, selectionOf } from '../selection';
import { useSize } from '../useSize';
import { carrying, ranDrawing, ranMoment, summedDrawing, summedMoment, writtenBy, type Drawing, type Moment } from './drawing';
import './graph.css';
import { GraphTable } from './GraphTable';
import { layoutFor, type Layout } from './layout';
import { PassageEdge, type PassageEdgeType } from './PassageEdge';
import { VertexNode, type VertexNodeType } from './VertexNode';

const MOST_VERTICES = 300; // More can neither be laid out in a frame nor read.
const LEAST_ZOOM = 0.68; // Below, the names are smaller than one can read.
const FEW = 36; // An app with so few parts is drawn whole.
const NODE_TYPES = { vertex: VertexNode };
const EDGE_TYPES = { passage: PassageEdge };

export default function GraphPanel(props: PanelProps) {
  const { film, at } = props;
  const [{ options }, move] = useRoute();
  const [table, setTable] = useState(false);
  const declared = useAppGraph(film);
  const ran = options.graph === 'ran';
  const whole = options.whole === undefined ? (declared?.nodes.length ?? 0) <= FEW : options.whole === 'yes';
  const option = (name: string, value: string) => move({ options: { ...options, [name]: value } }, 'replace');
  const drawing = useMemo(
    () => (ran ? ranDrawing(film) : summedDrawing(film, whole ? declared : null)),
    [film, declared, ran, whole],
  );
  const moment = useMemo(() => (ran ? ranMoment : summedMoment)(film, at), [film, at, ran]);
  const tooMany = drawing.vertices.length > MOST_VERTICES;

  return (
    <section className="panel graph-panel" aria-label="Graph">
      <PanelHeader title="Graph" count={`${plural(drawing.vertices.length, 'node')}, ${plural(drawing.links.length, 'edge')}`}>
        {declared && !ran && (
          <button type="button" className="button" data-look="quiet" aria-pressed={whole} title="Show what the app declares and did not run" onClick={() => option('whole', whole ? 'no' : 'yes')}>
            Declared
          </button>
        )}
        <button type="button" className="button" data-look="quiet" aria-pressed={ran} title="Every run of a node by itself" onClick={() => option('graph', ran ? '' : 'ran')}>
          As it ran
        </button>
        <button type="button" className="button" data-look="quiet" aria-pressed={table} onClick={() => setTable(!table)}>
          Table
        </button>
      </PanelHeader>
      {table || tooMany ? (
        <div className="table-box" tabIndex={0} role="region" aria-label="Graph as a table">
          {tooMany && <p className="muted">{plural(drawing.vertices.length, 'node')} are too many to draw; the timeline shows them all.</p>}
          <GraphTable drawing={drawing} moment={moment} />
        </div>
      ) : drawing.vertices.length ? (
        <>
          <ReactFlowProvider>
            <Canvas {...props} drawing={drawing} moment={moment} />
          </ReactFlowProvider>
          <div className="visually-hidden">
            <GraphTable drawing={drawing} moment={moment} />
          </div>
        </>
      ) : (
        <Empty title="Nothing has run yet">Agents and tools appear here as they begin.</Empty>
      )}
    </section>
  );
}

function Canvas({ film, at, selected, select, drawing, moment }: PanelProps & { drawing: Drawing; moment: Moment }) {
  const [hovered, setHovered] = useState<string | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const { width, height } = useSize(box);
  const layout = useMemo(
    () => layoutFor(drawing, { width: width || 800, height: height || 500 }, carrying(film)),
    [film, drawing, width, height],
  );
  const lit = hovered ?? (selected === null ? null : keyOf(selected));
  const nodes = useMemo(() => nodesOf(film, at, drawing, moment, layout, selected), [film, at, drawing, moment, layout, selected]);
  const edges = useMemo(
    () => edgesOf(film, drawing, moment, layout, lit, setHovered, (key) => select(selectionOf(key))),
    [film, drawing, moment, layout, lit, select],
  );
  const { setViewport } = useReactFlow();
  useEffect(() => void setViewport(viewportFor(layout, width, height)), [setViewport, layout, width, height]);
  return (
    <div className="canvas" ref={box}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        nodesDraggable={false}
        nodesConnectable={false}
        elementsSelectable={false}
        edgesFocusable={false}
        minZoom={0.1}
        maxZoom={1.5}
        proOptions={{ hideAttribution: true }}
        onNodeClick={(_, node) => select(node.data.vertex.name === selected ? null : node.data.vertex.name)}
        onPaneClick={() => select(null)}
        ariaLabelConfig={{ 'node.a11yDescription.default': 'Press Enter to pick this node out in every panel.' }}
      >
        <Background gap={20} size={1} color="var(--line)" />
        <Controls showInteractive={false} position="bottom-right" orientation="horizontal" />
      </ReactFlow>
    </div>
  );
}

/** Where one looks at first: at the whole in the middle, or, where that could not be read, at its beginning. */
function viewportFor(layout: Layout, width: number, height: number): { x: number; y: number; zoom: number } {
  const zoom = Math.max(LEAST_ZOOM, Math.min(1, width / layout.width, height / layout.height));
  const rest = { x: width - layout.width * zoom, y: height - layout.height * zoom };
  const [first] = [...layout.places.values()];
  const begin = { x: (first?.x ?? 0) * zoom, y: (first?.y ?? 0) * zoom };
  const room = { x: width / 8, y: height / 3 };
  const place = (axis: 'x' | 'y') => (rest[axis] >= 0 ? rest[axis] / 2 : Math.min(0, Math.max(rest[axis], room[axis] - begin[axis])));
  return { x: place('x'), y: place('y'), zoom };
}

function nodesOf(film: Film, at: number, drawing: Drawing, moment: Moment, { places, direction }: Layout, selected: string | null): VertexNodeType[] {
  const known = new Set(film.items.nodes.filter((node) => node.since > at).flatMap(({ is }) => [is.name, is.node]));
  return drawing.vertices.map((vertex) => {
    const { x, y, width, height } = places.get(vertex.id)!;
    const [from, to] = direction === 'LR' ? [Position.Right, Position.Left] : [Position.Bottom, Position.Top];
    // The places of edges are known, so that nothing has to be measured before they are drawn.
    const middle = direction === 'LR' ? { x: 0, y: height / 2 } : { x: width / 2, y: 0 };
    const far = direction === 'LR' ? { x: width, y: height / 2 } : { x: width / 2, y: height };
    const standing = moment.standings.get(vertex.id) ?? null;
    return {
      id: vertex.id,
      type: 'vertex',
      position: { x, y },
      width,
      height,
      handles: [
        { type: 'target', position: to, ...middle, width: 1, height: 1 },
        { type: 'source', position: from, ...far, width: 1, height: 1 },
      ],
      ariaLabel: `${vertex.name}, ${standing?.status ?? 'has not run'}`,
      data: { vertex, standing, direction, later: known.has(vertex.id), picked: selected === vertex.name },
    };
  });
}

function edgesOf(film: Film, drawing: Drawing, moment: Moment, { ways }: Layout, lit: string | null, hover: (key: string | null) => void, pick: (key: string) => void): PassageEdgeType[] {
  const names = new Map(drawing.vertices.map(({ id, name }) => [id, name]));
  return drawing.links.map(({ id, from, to, kind }) => {
    const traffic = moment.traffic.get(id);
    const own = writtenBy(film).get(names.get(from) ?? from) ?? new Set<string>();
    const keys = [...(traffic?.keys ?? [])].sort((a, b) => Number(own.has(b)) - Number(own.has(a)));
    const running = traffic !== undefined && moment.standings.get(to)?.status === 'running';
    return {
      id,
      source: from,
      target: to,
      type: 'passage',
      className: [kind, traffic ? 'seen' : 'declared', running ? 'running' : '', lit !== null && keys.includes(lit) ? 'lit' : ''].join(' '),
      markerEnd: { type: MarkerType.ArrowClosed, width: 14, height: 14, color: 'var(--line-strong)' },
      data: { kind, way: ways.get(id)!, count: traffic?.count ?? 0, keys, running, lit, hover, pick },
    };
  });
}

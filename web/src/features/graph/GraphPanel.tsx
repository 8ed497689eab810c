/**
 * The run as a graph: who led to whom, how it went, and which keys of the state, of arguments and of results went
 * along.
 */
import { Background, Controls, ReactFlow, ReactFlowProvider, useReactFlow } from '@xyflow/react';
import '@xyflow/react/dist/base.css';
import { memo, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useRoute } from '../../app/route';
import { useAppGraph } from '../../film/appGraph';
import { Empty, PanelHeader } from '../../ui/elements';
import { plural } from '../../ui/format';
import '../../style/panels.css';
import { type PanelProps, keyOf, selectionOf } from '../feature';
import { useSize } from '../../ui/hooks';
import { carrying, ranDrawing, ranMoment, summedDrawing, summedMoment, type Drawing, type Moment } from './drawing';
import { edgesOf, Kept, nodesOf } from './reactFlow';
import './graph.css';
import { GraphTable } from './GraphTable';
import { layoutFor, type Labels, type Layout, type Place } from './layout';
import { EdgeView, type EdgeViewType, NodeView, type NodeViewType } from './elements';
import { NodeDetails } from './NodeDetails';

const MOST_VERTICES = 300; // More can neither be laid out in a frame nor read.
const MOST_LINKS = 400; // What a layout costs grows faster than they do.
const LEAST_ZOOM = 0.68; // Below, the names are smaller than one can read.
const WHOLE_ZOOM = 0.55; // So small the whole is still better than a part of it.
const CONTROLS = 44; // At the bottom, the buttons that zoom: nothing is laid out below them.
const FEW = 36; // An app with so few parts is drawn whole.
const NODE_TYPES = { vertex: NodeView };
const EDGE_TYPES = { passage: EdgeView };

export default function GraphPanel({ film, at, selected, select, seek, inspect }: PanelProps) {
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
  const node = drawing.vertices.find(({ name, kind }) => name === selected && kind !== 'start' && kind !== 'end');
  const tooMany = drawing.vertices.length > MOST_VERTICES || drawing.links.length > MOST_LINKS;

  return (
    <section className="panel graph-panel" aria-label="Graph">
      <PanelHeader
        title="Graph"
        count={`${plural(drawing.vertices.length, 'node')}, ${plural(drawing.links.length, 'edge')}`}
      >
        {declared && !ran && (
          <button
            type="button"
            className="button"
            data-look="quiet"
            aria-pressed={whole}
            title="Also show agents and tools that did not run"
            onClick={() => option('whole', whole ? 'no' : 'yes')}
          >
            Show unused
          </button>
        )}
        <span className="graph-views" role="group" aria-label="Graph view">
          <button
            type="button"
            className="button"
            data-look="quiet"
            aria-pressed={!ran}
            title="Show each agent and tool once, however often it ran"
            onClick={() => option('graph', '')}
          >
            Merged
          </button>
          <button
            type="button"
            className="button"
            data-look="quiet"
            aria-pressed={ran}
            title="Show every execution of a node separately"
            onClick={() => option('graph', 'ran')}
          >
            Every call
          </button>
        </span>
        <button
          type="button"
          className="button"
          data-look="quiet"
          aria-pressed={table}
          onClick={() => setTable(!table)}
        >
          Table
        </button>
      </PanelHeader>
      {table || tooMany ? (
        <div className="table-box" tabIndex={0} role="region" aria-label="Graph as a table">
          {tooMany && (
            <p className="muted">{`${plural(drawing.vertices.length, 'node')}: too many to draw. The timeline shows all of them.`}</p>
          )}
          <GraphTable drawing={drawing} moment={moment} select={select} />
        </div>
      ) : drawing.vertices.length ? (
        <>
          <ReactFlowProvider>
            <Canvas film={film} at={at} selected={selected} select={select} drawing={drawing} moment={moment} />
          </ReactFlowProvider>
          <div className="visually-hidden">
            <GraphTable drawing={drawing} moment={moment} />
          </div>
        </>
      ) : (
        <Empty title="Nothing has run yet">Agents and tools appear here as they start.</Empty>
      )}
      {node && (
        <NodeDetails
          name={node.name}
          declared={declared?.nodes.find(({ name }) => name === node.name)}
          film={film}
          at={at}
          seek={seek}
          inspect={inspect}
          close={() => select(null)}
        />
      )}
    </section>
  );
}

type CanvasProps = Pick<PanelProps, 'film' | 'at' | 'selected' | 'select'> & { drawing: Drawing; moment: Moment };

const Canvas = memo(function Canvas({ film, at, selected, select, drawing, moment }: CanvasProps) {
  const [hovered, setHovered] = useState<string | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const { width, height: whole } = useSize(box);
  const height = Math.max(0, whole - CONTROLS);
  const labels = carrying(film);
  // While a run grows, most of what is new changes nothing of this: where things stay, the eye may stay, too.
  const shape = useMemo(() => shapeOf(drawing, labels), [drawing, labels]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a drawing of the same shape has the same layout
  const layout = useMemo(
    () => layoutFor(drawing, { width: width || 800, height: height || 500 }, labels),
    [shape, width, height],
  );
  const lit = hovered ?? (selected === null ? null : keyOf(selected));
  const pick = useCallback((key: string) => select(selectionOf(key)), [select]);
  const kept = useRef({ nodes: new Kept<NodeViewType>(), edges: new Kept<EdgeViewType>() }).current;
  const nodes = useMemo(
    () => nodesOf(film, at, drawing, moment, layout, selected, kept.nodes),
    [film, at, drawing, moment, layout, selected, kept],
  );
  const edges = useMemo(
    () => edgesOf(film, drawing, moment, layout, { lit, hover: setHovered, pick }, kept.edges),
    [film, drawing, moment, layout, lit, pick, kept],
  );
  const { setViewport } = useReactFlow();
  // biome-ignore lint/correctness/useExhaustiveDependencies: who selects another node already sees it
  useEffect(() => {
    const picked = drawing.vertices.find(({ name }) => name === selected);
    void setViewport(
      showing(viewportFor(layout, width, height), picked && layout.places.get(picked.id), width, height),
    );
  }, [setViewport, layout, width, height]);
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
        zoomOnDoubleClick={false}
        panOnScroll
        edgesFocusable={false}
        minZoom={0.1}
        maxZoom={1.5}
        proOptions={{ hideAttribution: true }}
        onNodeClick={(_, node) => select(node.data.vertex.name === selected ? null : node.data.vertex.name)}
        onPaneClick={() => select(null)}
        ariaLabelConfig={{
          'node.a11yDescription.default': 'Press Enter to select this node in every panel and to open its details.',
        }}
      >
        <Background gap={20} size={1} color="var(--line)" />
        <Controls showInteractive={false} position="bottom-right" orientation="horizontal" />
      </ReactFlow>
    </div>
  );
});

/** What the layout depends on. */
function shapeOf({ vertices, links }: Drawing, labels: Labels): string {
  return JSON.stringify([
    vertices.map(({ id, name, kind }) => [id, name, kind]),
    links.map(({ id }) => [id, labels.get(id)]),
  ]);
}

type Viewport = { x: number; y: number; zoom: number };

/** Where one looks so that a place is seen. */
function showing(view: Viewport, place: Place | undefined, width: number, height: number): Viewport {
  if (!place) return view;
  const [left, top] = [place.x * view.zoom + view.x, place.y * view.zoom + view.y];
  const isSeen =
    left >= 0 && top >= 0 && left + place.width * view.zoom <= width && top + place.height * view.zoom <= height;
  if (isSeen) return view;
  return {
    zoom: view.zoom,
    x: width / 2 - (place.x + place.width / 2) * view.zoom,
    y: height / 2 - (place.y + place.height / 2) * view.zoom,
  };
}

/** Where one looks at first: at the whole in the middle, or, where that could not be read, at its beginning. */
function viewportFor(layout: Layout, width: number, height: number): Viewport {
  const tall = layout.direction === 'lines' ? 1 : height / layout.height; // Lines are scrolled, not shrunk.
  const fit = Math.min(1, width / layout.width, tall);
  const zoom = fit >= WHOLE_ZOOM ? fit : LEAST_ZOOM;
  const rest = { x: width - layout.width * zoom, y: height - layout.height * zoom };
  const [first] = [...layout.places.values()];
  const begin = { x: (first?.x ?? 0) * zoom, y: (first?.y ?? 0) * zoom };
  const room = { x: width / 8, y: height / 3 };
  const place = (axis: 'x' | 'y') =>
    rest[axis] >= 0 ? rest[axis] / 2 : Math.min(0, Math.max(rest[axis], room[axis] - begin[axis]));
  return { x: place('x'), y: place('y'), zoom };
}

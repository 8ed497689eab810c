/**
 * A diagram, drawn when the answer is complete: as a picture, in which nothing can run or be fetched. Else its source.
 */
import { useContext, useEffect, useState } from 'react';
import { Copy } from '../../ui/Copy';
import { Code } from './Code';
import { drawing, type Drawing } from './drawings';
import { GrowingText } from './Prose';
import './diagram.css';

export default function Diagram({ source }: { source: string }) {
  const isGrowing = useContext(GrowingText);
  const [drawn, setDrawn] = useState<{ of: string; drawing: Drawing } | null>(null);
  const [isSource, setSource] = useState(false);
  useEffect(() => {
    if (isGrowing) return;
    let isWanted = true;
    void drawing(source).then((found) => isWanted && setDrawn({ of: source, drawing: found }));
    return () => void (isWanted = false);
  }, [source, isGrowing]);
  const found = drawn?.of === source ? drawn.drawing : null;
  if (!found || found.picture === null)
    return <Code language="mermaid" code={source} remark={found && <span>{found.why}</span>} />;
  return (
    <figure className="code diagram">
      <figcaption>
        <span>diagram</span>
        <button
          type="button"
          className="button"
          data-look="quiet"
          aria-pressed={isSource}
          onClick={() => setSource(!isSource)}
        >
          Source
        </button>
        <Copy text={source} label="Copy the source" />
      </figcaption>
      {isSource ? (
        <pre tabIndex={0} aria-label="Source of the diagram">
          <code>{source}</code>
        </pre>
      ) : (
        <div className="diagram-view" tabIndex={0} role="group" aria-label="Diagram">
          <img
            src={`data:image/svg+xml,${encodeURIComponent(found.picture)}`}
            alt={`Diagram: ${source.trim().split('\n')[0]!.slice(0, 80)}`}
          />
        </div>
      )}
    </figure>
  );
}

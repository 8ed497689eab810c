'use client';

export default function Problem({ reset }: { reset: () => void }) {
  return (
    <p role="alert" className="m-auto">
      This could not be loaded. Is the adk-prism server running, and does it serve this app? <button className="underline" onClick={reset}>Try again</button>
    </p>
  );
}

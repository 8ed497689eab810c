/** One ray in, a spectrum out: the hues of the kinds of facts. */

const RAYS = ['error', 'approval', 'state', 'proof', 'tool', 'text', 'reasoning', 'media'] as const;

export function Logo() {
  return (
    <svg className="logo" viewBox="0 0 26 20" aria-hidden="true">
      <path d="M0 12.6 8 10" />
      {RAYS.map((kind, index) => (
        <path key={kind} data-kind={kind} d={`M${12.6 + index * 0.35} ${8 + index * 0.85} L26 ${4 + index * 1.9}`} />
      ))}
      <path d="M11 2.500 4.500 17h13Z" className="glass" />
    </svg>
  );
}

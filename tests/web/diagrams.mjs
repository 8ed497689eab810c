// Diagrams as agents write them, and as those write them who attack their readers. Synthetic.

/** Each of these is drawn. */
export const DIAGRAMS = {
  flowchart: 'flowchart TD\n  A[Start] -->|a label| B{Is it?}\n  B -- yes --> C(("Ring"))\n  B -- no --> D[/"A & B <b>bold</b>"/]\n  subgraph one [A group]\n    C --> E[(Store)]\n  end\n  classDef hot fill:#fdd,stroke:#900\n  class A hot\n  style D fill:#dfd,stroke-width:3px',
  sequence: 'sequenceDiagram\n  autonumber\n  actor U as User\n  participant S as Server\n  U->>S: ask\n  loop each step\n    S-->>S: think\n  end\n  alt found\n    S->>U: answer\n  else none\n    S-xU: nothing\n  end\n  Note over U,S: a note',
  class: 'classDiagram\n  class Animal {\n    +int age\n    +swim() bool\n  }\n  Animal <|-- Duck : is a',
  state: 'stateDiagram-v2\n  [*] --> Idle\n  Idle --> Busy : work\n  state Busy {\n    [*] --> Half\n  }\n  Busy --> [*]',
  er: 'erDiagram\n  CUSTOMER ||--o{ ORDER : places\n  ORDER {\n    int id PK\n    string note\n  }',
  gantt: 'gantt\n  title A plan\n  dateFormat YYYY-MM-DD\n  section One\n  First :a, 2026-01-01, 3d\n  Second :after a, 2d',
  timeline: 'timeline\n  title History\n  2001 : one\n  2002 : two : three',
  journey: 'journey\n  title A day\n  section Morning\n    Wake: 3: Me\n    Work: 5: Me, You',
  pie: 'pie\n  "a" : 1\n  "b" : 2',
  mindmap: 'mindmap\n  root((Idea))\n    One\n    Two',
  gitGraph: 'gitGraph\n  commit\n  branch dev\n  commit\n  checkout main\n  merge dev',
};

/** Each of these is shown as its source. */
export const BROKEN = ['flowchart TD\n  A -->', 'no diagram at all', `flowchart TD\n${'  A --> B\n'.repeat(400)}`, ''];

/** Each of these may be drawn, but does nothing. */
export const HOSTILE = [
  'flowchart TD\n  A["<img src=x onerror=globalThis.ran=1><script>globalThis.ran=1</script>"] --> B["<a href=\'javascript:globalThis.ran=1\'>x</a>"]\n  click A "javascript:globalThis.ran=1"\n  click B href "https://evil.example/"',
  '%%{init: {"securityLevel": "loose", "htmlLabels": true, "themeCSS": "} * { display: none !important } .a { background: url(https://evil.example/x)"}}%%\nflowchart TD\n  A --> B\n  classDef x fill:url(https://evil.example/y),stroke:red;} body{display:none}\n  class A x',
  '---\nconfig:\n  securityLevel: loose\n  fontFamily: "x; } body { display: none }"\n---\nflowchart TD\n  A@{ img: "https://evil.example/a.png", label: "x" } --> B@{ icon: "fa:bell" }\n  style B background:url(https://evil.example/z)',
  'sequenceDiagram\n  participant A\n  link A: Site @ javascript:globalThis.ran=1\n  links A: {"x": "https://evil.example/"}\n  A->>A: <svg onload=globalThis.ran=1>\n',
];

/** The package describes its bundle; this is the same without additions. */
declare module 'temml/temml.js' {
  export { default } from 'temml';
}

/** The address of the document in which diagrams are drawn: `diagramDocument.ts` of the build. */
declare module 'virtual:diagram-frame' {
  const url: string;
  export default url;
}

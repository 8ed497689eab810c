/** The package describes its bundle; this is the same without additions. */
declare module 'temml/temml.js' {
  export { default } from 'temml';
}

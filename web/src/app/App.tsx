export function App() {
  return <h1>adk-prism</h1>;
}

/** Stands for the voice where there is no server to talk to. */
export default function Nobody() {
  return null;
}

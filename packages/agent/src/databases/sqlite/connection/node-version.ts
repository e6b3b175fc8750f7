/** The first release whose `node:sqlite` has all that this driver uses. */
const FIRST = [22, 16] as const;

/** What is wrong with the Node.js that runs the agent. */
export function problemOfNode(version: string = process.versions.node): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > FIRST[0] || (major === FIRST[0] && minor >= FIRST[1])) return undefined;
  return `the driver sqlite needs Node.js ${FIRST.join('.')} or newer, and this is ${version}: run the agent with a newer one`;
}

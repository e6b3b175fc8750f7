/** The first releases of their lines whose `node:sqlite` has everything that this driver uses. */
const FIRST: readonly (readonly [major: number, minor: number])[] = [
  [22, 16],
  [23, 11],
  [24, 0],
];

/** What is wrong with the Node.js that runs the agent. */
export function problemOfNode(version: string = process.versions.node): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const newest = FIRST.at(-1)?.[0] ?? 0;
  if (major > newest || FIRST.some(([line, first]) => major === line && minor >= first)) return undefined;
  return `the driver sqlite needs Node.js 22.16 or newer, and this is ${version}: use a newer one`;
}

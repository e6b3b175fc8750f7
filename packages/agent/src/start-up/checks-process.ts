/** How a process that runs the checks is started, whatever hands it its code. */
export const CHECKS: { readonly command: string; readonly flags: readonly string[] } = {
  command: 'internal-checks',
  // Optimizing the SQL parser takes more time and memory than it saves in one start.
  flags: ['--liftoff-only', '--max-semi-space-size=4'],
};

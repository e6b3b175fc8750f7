import { existsSync } from 'node:fs';

/** Where people have a capability file: one they wrote, and that of `svc-agent init`. */
const USUAL = ['capability.yaml', 'capability/capability.yaml'];

/** What to do where the capability file cannot be read: it is not looked for in the working folder, but may be there. */
export function nameAnother(path: string): string {
  const there = USUAL.find((name) => name !== path && existsSync(name));
  return there === undefined
    ? 'name another with --config or AGENT_CAPABILITY_FILE'
    : `there is ${there} in this folder: name it with --config ${there}`;
}

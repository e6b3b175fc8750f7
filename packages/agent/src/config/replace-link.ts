import { isRecord } from '../capabilities/is-record.ts';

/** What takes the place of what the file says of its link. */
export interface LinkOverride {
  readonly url: string;
  /** As in the file. */
  readonly privateKey: string;
}

const REPLACED = ['url', 'agent_private_key', 'agent_private_key_file', 'ca_file', 'proxy', 'proxy_ca_file'];

/** The tree of a file with another link. The section may be absent; one that is something else stays, at fault. */
export function replaceLink(root: unknown, link: LinkOverride): unknown {
  if (!isRecord(root)) return root;
  const { gateway = {} } = root;
  if (!isRecord(gateway)) return root;
  const kept = Object.fromEntries(Object.entries(gateway).filter(([key]) => !REPLACED.includes(key)));
  return { ...root, gateway: { ...kept, url: link.url, agent_private_key: link.privateKey } };
}

/** Whether a fault at this path, as `Fault` has it, is about what is replaced. */
export function isReplaced(path: string): boolean {
  return REPLACED.some((key) => path === `gateway.${key}` || path.startsWith(`gateway.${key}.`));
}

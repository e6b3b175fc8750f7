import type { LinkOverride } from '@svc/agent';

/**
 * In place of `gateway` in the capability file, nothing of which counts: calls reach the agent in memory. Nothing dials the
 * URL, and nothing is signed with the key.
 */
export const LOCAL_LINK: LinkOverride = {
  url: 'ws://127.0.0.1/ws/agent',
  privateKey: Buffer.alloc(32).toString('base64url'),
  isLocal: true,
  isOfOneCaller: true,
};

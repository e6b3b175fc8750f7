import type { Description } from '@svc/protocol';
import { META_SERVER_INFO, type Era } from './revisions.ts';
import type { ResultFrame } from '../tools/tool-result.ts';

/** Who answers, as JSON texts. */
export interface Identity {
  readonly serverInfo: string;
  /** A member with a comma before it, or nothing. */
  readonly instructions: string;
  readonly frames: Readonly<Record<Era, ResultFrame>>;
}

/** `version` is the gateway's. Title and instructions are those of the capability file, once an agent told them. */
export function identityOf(description: Description | undefined, version: string): Identity {
  const { title, description: text } = description?.openapi.info ?? {};
  const serverInfo = JSON.stringify({ name: 'svc-gateway', title, version });
  return {
    serverInfo,
    instructions: text === undefined ? '' : `,"instructions":${JSON.stringify(text)}`,
    frames: {
      handshake: { head: '{', tail: '}' },
      stateless: {
        head: '{"resultType":"complete",',
        tail: `,"_meta":{"${META_SERVER_INFO}":${serverInfo}}}`,
      },
    },
  };
}

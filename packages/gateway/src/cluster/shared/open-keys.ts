import {
  createAuthenticator,
  type Authenticator,
  type KeyAuthority,
} from '../../auth/api-keys/authenticator.ts';
import type { Verifier } from '../../auth/api-keys/verifier.ts';
import type { SharePermissions } from '../../auth/permission-sets.ts';
import type { ServiceConfig } from '../../config/model.ts';
import type { Replica } from '../replica.ts';
import { askForKeys } from './shared-keys.ts';

interface KeyParts {
  readonly channel: Replica['channel'];
  readonly verifier: Verifier;
  readonly services: readonly ServiceConfig[];
  readonly sharePermissions: SharePermissions;
  readonly now: () => number;
}

/** What checks API keys. In a worker, the primary has the key records, and nothing has to be set here. */
export function openKeys({ channel, verifier, services, sharePermissions, now }: KeyParts): {
  readonly authenticator: Authenticator;
} & Pick<KeyAuthority, 'setRecords' | 'setRevoked'> {
  const parts = { now, wallClock: Date.now, sharePermissions };
  if (channel !== undefined) {
    return { authenticator: askForKeys(channel, parts), setRecords: () => {}, setRevoked: () => {} };
  }
  const authority = createAuthenticator({
    ...parts,
    services,
    verify: (plaintext, bcryptHash) => verifier.verify(plaintext, bcryptHash),
  });
  return {
    authenticator: authority,
    setRecords: (next) => authority.setRecords(next),
    setRevoked: (keyIds) => authority.setRevoked(keyIds),
  };
}

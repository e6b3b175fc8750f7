import {
  createAuthenticator,
  type Authenticator,
  type AuthenticatorOptions,
  type KeyAuthority,
} from '../../auth/api-keys/authenticator.ts';
import { knownForms } from '../../auth/api-keys/known-forms.ts';
import { answerKey, createRemoteAuthenticator } from '../../auth/api-keys/remote-authenticator.ts';
import type { SharePermissions } from '../../auth/permission-sets.ts';
import { PrimaryAway, type PrimaryChannel, type WorkerChannel } from '../channel.ts';

/** In the primary: the one authority of a replica, which answers its workers. Its bounds hold for all workers together. */
export function openKeyAuthority(
  channel: PrimaryChannel,
  options: Omit<AuthenticatorOptions, 'onRetired'>,
): KeyAuthority {
  let retired: readonly string[] = [];
  let forms = knownForms(options.services);
  const authority = createAuthenticator({ ...options, onRetired: (ids) => (retired = [...retired, ...ids]) });
  channel.answer('key', (question) => answerKey(authority, question));
  channel.onJoin((worker) => channel.send(worker, 'records_changed', { retired: [], forms }));
  const tell = (): void => {
    channel.broadcast('records_changed', { retired, forms });
    retired = [];
  };
  return {
    ...authority,
    get counters() {
      return authority.counters;
    },
    setRecords(services) {
      authority.setRecords(services);
      forms = knownForms(services);
      tell();
    },
    setRevoked(keyIds) {
      authority.setRevoked(keyIds);
      tell();
    },
  };
}

/** In a worker: asks its primary. */
export function askForKeys(
  channel: WorkerChannel,
  clocks: Pick<AuthenticatorOptions, 'now' | 'wallClock'> & { readonly sharePermissions: SharePermissions },
): Authenticator {
  const authenticator = createRemoteAuthenticator({
    ...clocks,
    ask: async (question) => channel.ask('key', question),
    isAway: (error) => error instanceof PrimaryAway,
  });
  channel.on('records_changed', ({ retired, forms }) => authenticator.recordsChanged(retired, forms));
  return authenticator;
}

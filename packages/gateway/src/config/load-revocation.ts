import type { Fault } from './fault.ts';
import { loadServices } from './load.ts';
import type { ValkeyConfig } from './model.ts';
import { createReadSettings, type Environment } from './read-settings.ts';
import type { ReadFile } from './tls-files.ts';
import { readValkey } from './valkey.ts';

interface RevocationConfig {
  readonly valkey: ValkeyConfig;
  /** Of all records; undefined where the settings of these are absent or at fault. */
  readonly keyIds: readonly string[] | undefined;
}

/** What `revoke-key` needs; other settings may be absent where it is run. */
export function loadRevocation(
  env: Environment,
  readFile: ReadFile,
): RevocationConfig | { readonly faults: readonly Fault[] } {
  const settings = createReadSettings(env);
  const { valkey } = readValkey(settings, readFile);
  if (!settings.isSet('GATEWAY_VALKEY_URL')) {
    const message =
      'is not set, so gateways share no revocations; set it for all of them and here, or remove the record of the key ' +
      'and, where it is in no file that is read again, restart them';
    return { faults: [{ setting: 'GATEWAY_VALKEY_URL', message }] };
  }
  if (valkey === undefined || settings.faults.length > 0) return { faults: settings.faults };
  const loaded = loadServices(env, readFile);
  if ('faults' in loaded) return { valkey, keyIds: undefined };
  const keyIds = loaded.services.flatMap(({ keys }) => keys.flatMap(({ keyId }) => keyId ?? []));
  return { valkey, keyIds };
}

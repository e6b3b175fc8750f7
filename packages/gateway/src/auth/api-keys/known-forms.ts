import type { ServiceKeys } from './authenticator.ts';
import { keyFormOf } from './key-form.ts';

/** What tells most unknown keys apart from the known ones, by service. It holds nothing of a secret. */
export type KnownForms = ReadonlyMap<string, FormsOfService>;

interface FormsOfService {
  readonly keyIds: ReadonlySet<string>;
  /** Whether there are records without `key_id`, which may fit any other key. */
  readonly hasOthers: boolean;
}

export function knownForms(services: readonly ServiceKeys[]): KnownForms {
  return new Map(
    services.map(({ id, keys }) => {
      const keyIds = new Set(keys.flatMap(({ keyId }) => (keyId === undefined ? [] : [keyId])));
      return [id, { keyIds, hasOthers: keys.some(({ keyId }) => keyId === undefined) }];
    }),
  );
}

/** False when no record fits this key. */
export function mayHaveRecord(forms: KnownForms, credential: string, service: string): boolean {
  const known = forms.get(service);
  if (known === undefined) return false;
  const form = keyFormOf(credential);
  if (form.kind !== 'other' && known.keyIds.has(form.keyId)) return true;
  return known.hasOthers && !(form.kind === 'created' && form.complete);
}

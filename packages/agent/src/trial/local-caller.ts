import { parseClaims } from '@svc/identity';
import type { Caller } from '../capabilities/caller.ts';

/** Who is to call: of an API key the name, of a token the rest. As an example of the capability file has it. */
export interface LocalPrincipal {
  readonly key_name?: string;
  readonly issuer?: string;
  readonly subject?: string;
  readonly client_id?: string;
  /** By their names in the capability file. */
  readonly claims?: Readonly<Record<string, unknown>>;
}

export type LocalCaller =
  | { readonly ok: true; readonly caller: Caller }
  /** `problem` says what of the claims cannot be taken. */
  | { readonly ok: false; readonly problem: string };

/** Makes a caller of what is said here, on the machine of the agent: nobody's word is verified. What is not said is empty. */
export function createLocalCaller(principal: LocalPrincipal): LocalCaller {
  const parsed = parseClaims(principal.claims ?? {});
  if (!parsed.ok) {
    const problems = parsed.problems.map(
      ({ path, message }) => `${['claims', ...path].join('.')} ${message}`,
    );
    return { ok: false, problem: problems.join('; ') };
  }
  const { key_name: keyName = '', issuer = '', subject = '', client_id: clientId = '' } = principal;
  const isToken = issuer !== '' || subject !== '';
  return {
    ok: true,
    caller: {
      principal: isToken ? `token:${issuer}:${subject}` : `key:${keyName}`,
      keyName,
      issuer,
      subject,
      clientId,
      claims: parsed.claims,
      claimsJson: parsed.json,
      verifiedBy: 'gateway',
    },
  };
}

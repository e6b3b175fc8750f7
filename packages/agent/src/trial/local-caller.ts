import { parseClaims } from '@svc/identity';
import type { Caller } from '../capabilities/caller.ts';
import type { ExamplePrincipal } from '../capabilities/example.ts';

export type LocalCaller =
  | { readonly ok: true; readonly caller: Caller }
  | { readonly ok: false; readonly problem: string };

/** The caller that somebody on the machine of the agent claims to be: nothing is verified. What is not claimed is empty. */
export function createLocalCaller(principal: ExamplePrincipal): LocalCaller {
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

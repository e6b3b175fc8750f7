import { keyFileProblem } from '@svc/identity';
import type { Fault } from '../capabilities/fault.ts';
import type { IdentityConfig } from '../config/model.ts';

/** What is wrong with the key files that the capability file names: without its keys an issuer's tokens are refused. */
export async function checkKeyFiles({ issuers, issuerPositions }: IdentityConfig): Promise<readonly Fault[]> {
  const problems = await Promise.all(issuers.map((issuer) => keyFileProblem(issuer)));
  return problems.flatMap((message, index) => {
    const position = issuerPositions[index];
    const path = `identity.issuers.${index}`;
    return message === undefined ? [] : [{ path, message, ...(position === undefined ? {} : { position }) }];
  });
}

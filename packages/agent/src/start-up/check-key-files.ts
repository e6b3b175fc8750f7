import { createTokenVerifier, type KeysEvent } from '@svc/identity';
import type { Fault } from '../capabilities/fault.ts';
import type { IdentityConfig } from '../config/model.ts';

/** What is wrong with the key files that the capability file names: without its keys an issuer's tokens are refused. */
export async function checkKeyFiles({ issuers, issuerPositions }: IdentityConfig): Promise<readonly Fault[]> {
  const byFile = issuers.filter(({ keySource }) => keySource.kind === 'file');
  const events = await firstEvents(byFile.length, (onKeys) =>
    createTokenVerifier({ issuers: byFile, clockSkewMs: 0, refreshMs: 60_000, maxStaleMs: 60_000, onKeys }),
  );
  return events.flatMap((event) => {
    const problem = problemOf(event);
    if (problem === undefined) return [];
    const index = issuers.findIndex(({ name }) => name === event.issuer);
    const position = issuerPositions[index];
    const path = `identity.issuers.${index}.jwks_file`;
    return [{ path, message: problem, ...(position === undefined ? {} : { position }) }];
  });
}

/** Each issuer is told of once, as soon as its file has been read or could not be. */
function firstEvents(
  count: number,
  open: (onKeys: (event: KeysEvent) => void) => { close(): void },
): Promise<readonly KeysEvent[]> {
  return new Promise((resolve) => {
    const events: KeysEvent[] = [];
    if (count === 0) {
      resolve(events);
      return;
    }
    const verifier = open((event) => {
      events.push(event);
      if (events.length < count) return;
      verifier.close();
      resolve(events);
    });
  });
}

function problemOf(event: KeysEvent): string | undefined {
  if (event.kind === 'keys_fetch_failed') return event.reason;
  return event.keys > 0 ? undefined : 'holds no key that can be used: it needs public keys for signatures';
}

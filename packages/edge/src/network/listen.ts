import type { AddressInfo, Server } from 'node:net';
import { errorText } from '../text/error-text.ts';
import type { ListenAddress } from './listen-address.ts';

/** A fault of the configuration: the message names the setting and says what to do. */
export class CannotListen extends Error {
  readonly setting: string;
  readonly reason: string;
  constructor(setting: string, cause: unknown) {
    const reason = reasonOf(cause);
    super(`${setting}: ${reason}`, { cause });
    this.name = 'CannotListen';
    this.setting = setting;
    this.reason = reason;
  }
}

/** A connection could not be accepted, for example for want of a descriptor. The fields are those of the log record. */
export interface AcceptFailure {
  readonly address: string;
  readonly port: number;
  readonly message: string;
}

/** A process without free descriptors fails to accept some ten thousand times a second. */
const ACCEPT_FAILURE_EVERY_MS = 1000;

/**
 * Resolves to the address that was bound; rejects with CannotListen. `setting` is where the user wrote it.
 * `onAcceptFailure` is called at most once a second; the server goes on listening.
 */
export function listen(
  server: Server,
  address: ListenAddress,
  setting: string,
  onAcceptFailure: (failure: AcceptFailure) => void,
): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    const refuse = (error: unknown): void => reject(new CannotListen(setting, error));
    server.once('error', refuse);
    server.listen(address.port, address.host, () => {
      server.off('error', refuse);
      const bound = server.address();
      if (bound === null || typeof bound === 'string') refuse(new Error('it is no TCP address'));
      else {
        reportAcceptFailures(server, bound, onAcceptFailure);
        resolve(bound);
      }
    });
  });
}

/** A listening server emits `error` for each connection that it cannot accept; unhandled, it would end the process. */
function reportAcceptFailures(
  server: Server,
  { address, port }: AddressInfo,
  report: (failure: AcceptFailure) => void,
): void {
  let nextAt = 0;
  server.on('error', (error) => {
    if (performance.now() < nextAt) return;
    nextAt = performance.now() + ACCEPT_FAILURE_EVERY_MS;
    report({ address, port, message: errorText(error) });
  });
}

function reasonOf(error: unknown): string {
  switch (error instanceof Error && 'code' in error ? error.code : undefined) {
    case 'EADDRINUSE':
      return 'another process listens on this address; choose another, or port 0 for any free one';
    case 'EACCES':
      return 'this account may not listen on that port; choose one above 1023';
    case 'EADDRNOTAVAIL':
      return 'this machine does not have that address';
    case 'ENOTFOUND':
      return 'this machine does not know that host name';
    default:
      return `cannot listen: ${errorText(error)}`;
  }
}

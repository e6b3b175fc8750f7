import { readListenAddress, type ListenAddress } from '@svc/edge';
import { bad, good, quoted, type Parsed } from './parsed.ts';

/** Reads `:<port>`, `<host>:<port>` or `[<IPv6>]:<port>`. */
export function parseListenAddress(text: string): Parsed<ListenAddress> {
  const address = readListenAddress(text);
  const accepted = 'accepted: :<port>, <host>:<port> or [<IPv6 address>]:<port>, port 0 to 65535';
  return address === undefined ? bad(`${quoted(text)} is not a listen address; ${accepted}`) : good(address);
}

import { isIPv6 } from 'node:net';
import { bad, good, quoted, type Parsed } from './parsed.ts';

export interface ListenAddress {
  /** Undefined listens on every interface. */
  readonly host: string | undefined;
  /** 0 picks a free port. */
  readonly port: number;
}

const FORM = /^(?:\[([^\]]+)\]|([A-Za-z0-9._-]*)):(\d{1,5})$/;

/** Reads `:<port>`, `<host>:<port>` or `[<IPv6>]:<port>`. */
export function parseListenAddress(text: string): Parsed<ListenAddress> {
  const accepted = 'accepted: :<port>, <host>:<port> or [<IPv6 address>]:<port>, port 0 to 65535';
  const [matched, bracketed, plain, digits] = FORM.exec(text) ?? [];
  const port = Number(digits);
  if (matched === undefined || port > 65_535 || (bracketed !== undefined && !isIPv6(bracketed))) {
    return bad(`${quoted(text)} is not a listen address; ${accepted}`);
  }
  const host = bracketed ?? plain;
  return good({ host: host === '' ? undefined : host, port });
}

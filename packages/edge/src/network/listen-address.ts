import { isIPv6 } from 'node:net';

export interface ListenAddress {
  /** Undefined listens on every interface. */
  readonly host: string | undefined;
  readonly port: number;
}

const FORM = /^(?:\[([^\]]+)\]|([A-Za-z0-9._-]*)):(\d{1,5})$/;

/** Reads `:<port>`, `<host>:<port>` or `[<IPv6>]:<port>`; undefined for any other text. */
export function readListenAddress(text: string): ListenAddress | undefined {
  const [matched, bracketed, plain, digits] = FORM.exec(text) ?? [];
  const port = Number(digits);
  if (matched === undefined || port > 65_535 || (bracketed !== undefined && !isIPv6(bracketed))) {
    return undefined;
  }
  const host = bracketed ?? plain;
  return { host: host === '' ? undefined : host, port };
}

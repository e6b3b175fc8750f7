import { isIP } from 'node:net';
import { formatIp, networkBase, parseIpAddress, type Cidr } from '../../network/cidr.ts';
import { bad, good, quoted, type Parsed } from './parsed.ts';

/**
 * Reads a network like `10.0.0.0/8` or `2001:db8::/32`, or a single address. Host bits that are set are
 * refused, because such a line rarely means what it says.
 */
export function parseCidr(text: string): Parsed<Cidr> {
  const accepted = 'accepted: an address or a network like 10.0.0.0/8 or 2001:db8::/32';
  const [addressText = '', prefixText, ...more] = text.split('/');
  const written = isIP(addressText);
  const address = addressText.includes('%') ? undefined : parseIpAddress(addressText);
  if (address === undefined || more.length > 0) return bad(`${quoted(text)} is not a network; ${accepted}`);

  const bits = written === 4 ? 32 : 128;
  const writtenPrefix =
    prefixText === undefined ? bits : Number(/^\d{1,3}$/.test(prefixText) ? prefixText : -1);
  // The prefix of a mapped network counts bits of the IPv6 form; a wider one than ::ffff:0:0/96 has host bits set.
  const prefix = written === 6 && address.family === 4 ? writtenPrefix - 96 : writtenPrefix;
  if (writtenPrefix < 0 || writtenPrefix > bits) {
    return bad(`${quoted(text)} has a prefix that is not a number from 0 to ${bits}; ${accepted}`);
  }
  const base = prefix < 0 ? undefined : networkBase(address, prefix);
  if (base !== address.value) {
    const hint =
      base === undefined ? '' : `; did you mean ${formatIp({ ...address, value: base })}/${prefix}?`;
    return bad(`${quoted(text)} has bits set after its prefix${hint}`);
  }
  return good({ family: address.family, base, prefix });
}

import { parseCidr } from '../config/parse/cidr.ts';
import type { Cidr } from './cidr.ts';

/** A network as it stands in a setting. */
export function cidr(text: string): Cidr {
  const parsed = parseCidr(text);
  if (!parsed.ok) throw new Error(parsed.problems.join());
  return parsed.value;
}

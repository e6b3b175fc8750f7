import type { Issuer } from '../model/issuer.ts';
import { parseIssuers } from './parse-issuers.ts';

/** The issuer of one good record. */
export function issuerOf(record: object, resource?: string): Issuer {
  const parsed = parseIssuers([record], { resource });
  const issuer = parsed.ok ? parsed.issuers[0] : undefined;
  if (issuer === undefined) throw new Error(JSON.stringify(parsed));
  return issuer;
}

import { parseClaims, type Claims } from '@svc/identity';

type ClaimFlags =
  | { readonly ok: true; readonly claims: Claims | undefined }
  | { readonly ok: false; readonly problem: string };

/** Reads the values of `--claim`: `name=text`, or `name:=json` for a number, true, false or a list of texts. */
export function parseClaimFlags(flags: readonly string[]): ClaimFlags {
  const claims = new Map<string, unknown>();
  for (const flag of flags) {
    const [, name, colon, text] = /^([^=:]+)(:?)=(.*)$/s.exec(flag) ?? [];
    if (name === undefined || text === undefined) {
      return wrongClaim(`${JSON.stringify(flag)} is not accepted; accepted: <name>=<text> or <name>:=<json>`);
    }
    if (claims.has(name)) return wrongClaim(`${name} is given twice`);
    const value = colon === '' ? text : parseJson(text);
    if (value === undefined)
      return wrongClaim(`${name} is not JSON; accepted: <name>:=<json>, or <name>=<text>`);
    claims.set(name, value);
  }
  if (claims.size === 0) return { ok: true, claims: undefined };
  const parsed = parseClaims(Object.fromEntries(claims));
  if (parsed.ok) return { ok: true, claims: parsed.claims };
  const [first] = parsed.problems;
  return wrongClaim([...(first?.path ?? []), first?.message ?? ''].join(' '));
}

function wrongClaim(problem: string): ClaimFlags {
  return { ok: false, problem: `--claim: ${problem}` };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

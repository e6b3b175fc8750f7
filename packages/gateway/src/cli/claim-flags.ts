import { parseClaims, type Claims } from '@svc/identity';

export type ParsedClaimFlags =
  | { readonly ok: true; readonly claims: Claims | undefined }
  | { readonly ok: false; readonly problem: string };

/** The values of `--claim`: `name=text`, or `name:=json` for a number, true, false or a list of texts. */
export function parseClaimFlags(flags: readonly string[]): ParsedClaimFlags {
  const claims = new Map<string, unknown>();
  for (const flag of flags) {
    const [, name, colon, text] = /^([^=:]+)(:?)=(.*)$/s.exec(flag) ?? [];
    if (name === undefined || text === undefined) {
      return wrong(`${JSON.stringify(flag)} is not accepted; accepted: <name>=<text> or <name>:=<json>`);
    }
    if (claims.has(name)) return wrong(`${name} is given twice`);
    const value = colon === '' ? text : parseJson(text);
    if (value === undefined) return wrong(`${name} is not JSON; accepted: <name>:=<json>, or <name>=<text>`);
    claims.set(name, value);
  }
  if (claims.size === 0) return { ok: true, claims: undefined };
  const parsed = parseClaims(Object.fromEntries(claims));
  if (parsed.ok) return { ok: true, claims: parsed.claims };
  const [first] = parsed.problems;
  return wrong([...(first?.path ?? []), first?.message ?? ''].join(' '));
}

function wrong(problem: string): ParsedClaimFlags {
  return { ok: false, problem: `--claim: ${problem}` };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

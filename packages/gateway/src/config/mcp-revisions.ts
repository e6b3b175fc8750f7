import { atLeastOne, bad, good, parseList, quoted, type Parsed } from './parse/parsed.ts';

/** The revisions of MCP that the gateway knows, newest first. */
export const MCP_REVISIONS = ['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

/** Returns them newest first, whatever their order in the list. */
export function parseMcpRevisions(text: string): Parsed<readonly string[]> {
  const accepted = `revisions of MCP, separated by commas: ${MCP_REVISIONS.join(', ')}`;
  const known: readonly string[] = MCP_REVISIONS;
  const parsed = atLeastOne(
    parseList(text, (item) =>
      known.includes(item) ? good(item) : bad(`${quoted(item)} is not accepted; accepted: ${accepted}`),
    ),
    accepted,
  );
  return parsed.ok ? good(known.filter((revision) => parsed.value.includes(revision))) : parsed;
}

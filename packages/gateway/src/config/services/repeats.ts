import { quoted } from '../parse/parsed.ts';
import type { ServiceText } from './services-file.ts';

/**
 * What stands in more than one of these places, or twice among the agent keys of one, which would leave open whose it is.
 * Names and key ids that one place has twice are faults of its list of records.
 */
export function repeatsAcross(places: readonly ServiceText[]): readonly string[] {
  return [
    ...repeatedKeyField(places, 'name'),
    ...repeatedKeyField(places, 'key_id'),
    ...repeatedAgentKey(places),
  ];
}

function repeatedKeyField(places: readonly ServiceText[], field: 'name' | 'key_id'): readonly string[] {
  const first = new Map<string, { readonly text: ServiceText; readonly at: string }>();
  const problems: string[] = [];
  for (const text of places) {
    for (const [index, entry] of text.keys.entries()) {
      const value = fieldOf(entry, field);
      if (value === undefined) continue;
      const at = `${text.place}: record ${index + 1}`;
      const earlier = first.get(value);
      if (earlier === undefined) first.set(value, { text, at });
      else if (earlier.text !== text) {
        const problem = `${field} ${quoted(value)} is already that of ${earlier.at.replace(': ', ', ')}`;
        problems.push(`${at}: ${problem}; accepted: each ${field} once, whatever the service`);
      }
    }
  }
  return problems;
}

function repeatedAgentKey(places: readonly ServiceText[]): readonly string[] {
  const first = new Map<string, string>();
  const problems: string[] = [];
  for (const { place, agentPublicKeys } of places) {
    for (const [index, value] of agentPublicKeys.entries()) {
      if (typeof value !== 'string') continue;
      const key = value.replace(/=$/, '');
      const at = `${place}: agent key ${index + 1}`;
      const earlier = first.get(key);
      if (earlier === undefined) first.set(key, at);
      else {
        const problem = `is already ${earlier.replace(': ', ', ')}`;
        problems.push(`${at} ${problem}; accepted: each agent key once, since it belongs to one service`);
      }
    }
  }
  return problems;
}

function fieldOf(entry: unknown, field: 'name' | 'key_id'): string | undefined {
  if (typeof entry !== 'object' || entry === null) return undefined;
  const value: unknown = Object.getOwnPropertyDescriptor(entry, field)?.value;
  return typeof value === 'string' ? value : undefined;
}

import { isJsonObject, repeatsAmong } from '../parse/json.ts';
import { quoted } from '../parse/parsed.ts';
import type { ServiceText } from './services-file.ts';

/**
 * Problems of keys that occur in more than one of these places, or twice among the agent keys of one place: it would not
 * be clear whose they are. Names and key ids that occur twice in one place are faults of its list of records.
 */
export function repeatsAcross(places: readonly ServiceText[]): readonly string[] {
  return [
    ...repeatedKeyField(places, 'name'),
    ...repeatedKeyField(places, 'key_id'),
    ...repeatedAgentKey(places),
  ];
}

function repeatedKeyField(places: readonly ServiceText[], field: 'name' | 'key_id'): readonly string[] {
  const values = places.flatMap((text) =>
    text.keys.map((entry, index) => {
      const value = isJsonObject(entry) ? entry[field] : undefined;
      return [value, { text, at: `${text.place}: record ${index + 1}` }] as const;
    }),
  );
  return repeatsAmong(values, (value, { text, at }, earlier) =>
    earlier.text === text
      ? undefined
      : `${at}: ${field} ${quoted(value)} is already that of ${earlier.at.replace(': ', ', ')}; ` +
        `accepted: each ${field} once, whatever the service`,
  );
}

function repeatedAgentKey(places: readonly ServiceText[]): readonly string[] {
  const values = places.flatMap(({ place, agentPublicKeys }) =>
    agentPublicKeys.map((key, index) => {
      const value = typeof key === 'string' ? key.replace(/=$/, '') : undefined;
      return [value, `${place}: agent key ${index + 1}`] as const;
    }),
  );
  return repeatsAmong(
    values,
    (_key, at, earlier) =>
      `${at} is already ${earlier.replace(': ', ', ')}; ` +
      'accepted: each agent key once, since it belongs to one service',
  );
}

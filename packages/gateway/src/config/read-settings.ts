import type { Fault } from './fault.ts';
import type { Parsed } from './parse/parsed.ts';
import type { Setting } from './settings.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads settings one by one; what is wrong with them is gathered in `faults`. An empty value counts as absent. */
export interface ReadSettings {
  readonly faults: Fault[];
  readonly isSet: (setting: Setting) => boolean;
  /** Undefined when it is absent or at fault. */
  readonly read: <T>(setting: Setting, parse: (text: string) => Parsed<T>) => T | undefined;
  /** The same, with no word of what is wrong with it. */
  readonly peek: <T>(setting: Setting, parse: (text: string) => Parsed<T>) => T | undefined;
}

export function createReadSettings(env: Environment): ReadSettings {
  const faults: Fault[] = [];
  const textOf = (setting: Setting): string => env[setting]?.trim() ?? '';
  const isSet = (setting: Setting): boolean => textOf(setting) !== '';

  function read<T>(setting: Setting, parse: (text: string) => Parsed<T>): T | undefined {
    if (!isSet(setting)) return undefined;
    const parsed = parse(textOf(setting));
    if (parsed.ok) return parsed.value;
    faults.push(...parsed.problems.map((message) => ({ setting, message })));
    return undefined;
  }

  return {
    faults,
    isSet,
    read,
    peek(setting, parse) {
      const parsed = isSet(setting) ? parse(textOf(setting)) : undefined;
      return parsed?.ok === true ? parsed.value : undefined;
    },
  };
}

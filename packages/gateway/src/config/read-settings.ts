import { readProblem } from '@svc/edge';
import { bad, good, type Parsed } from './parse/parsed.ts';
import type { Setting } from './settings.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the text of a file, or throws. */
export type ReadFile = (path: string) => string;

/** One thing that is wrong with the configuration, fit to be shown: never a secret. */
export interface Fault {
  /** The environment variable, or the line of an environment file, such as `line 3`. */
  readonly setting: string;
  /** What is wrong and what is accepted. */
  readonly message: string;
}

/** Reads settings one by one and gathers what is wrong with them in `faults`. An empty value counts as absent. */
export interface ReadSettings {
  readonly faults: Fault[];
  readonly isSet: (setting: Setting) => boolean;
  /** Undefined when it is absent or at fault. */
  readonly read: <T>(setting: Setting, parse: (text: string) => Parsed<T>) => T | undefined;
  /** Like `read`, but adds no faults. */
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

/** `accepted`: which file the setting may name. */
export function readNamedFile(path: string, readFile: ReadFile, accepted: string): Parsed<string> {
  try {
    return good(readFile(path));
  } catch (error) {
    return bad(`names a file that cannot be read: ${readProblem(error)}; accepted: the path of ${accepted}`);
  }
}

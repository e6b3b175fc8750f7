import { dottedPath } from '../config/path.ts';

/** From what breaks callers to what no caller notices. */
export const SEVERITIES = ['breaking', 'risky', 'compatible'] as const;
export type Severity = (typeof SEVERITIES)[number];

export interface Change {
  readonly severity: Severity;
  /** Absent if it concerns all capabilities. */
  readonly capability?: string;
  /** As in the capability file: `capabilities.find_book.params.id.minimum`. */
  readonly path: string;
  /** The difference, and what a `breaking` or `risky` one does to callers. */
  readonly message: string;
}

/** Collects the changes below one path. */
export interface Changes {
  readonly add: (severity: Severity, path: readonly string[], message: string) => void;
  readonly below: (...path: readonly string[]) => Changes;
}

/** `path` begins with `capabilities` and a name, or is that of something else. */
export function changesInto(list: Change[], path: readonly string[] = []): Changes {
  return {
    add(severity, rest, message) {
      const whole = [...path, ...rest];
      const capability = whole[0] === 'capabilities' ? whole[1] : undefined;
      list.push({
        severity,
        ...(capability === undefined ? {} : { capability }),
        path: dottedPath(whole),
        message,
      });
    },
    below: (...rest) => changesInto(list, [...path, ...rest]),
  };
}

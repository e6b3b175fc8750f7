import type { VerificationFault } from '../databases/driver/errors.ts';
import type { FaultTexts } from '../telemetry/events.ts';

export function textsOf(faults: readonly VerificationFault[]): FaultTexts {
  const names = faults.flatMap(({ path }) => /^capabilities\.([a-z][a-z0-9_]*)/.exec(path)?.[1] ?? []);
  const details = faults.flatMap(({ path, detail }) =>
    detail === undefined || detail === '' ? [] : [`${path}: ${detail}`],
  );
  return {
    faults: faults.length,
    ...(names.length === 0 ? {} : { capabilities: [...new Set(names)].join(', ') }),
    message: faults.map(lineOf).join('\n'),
    ...(details.length === 0 ? {} : { detail: details.join('\n') }),
  };
}

function lineOf({ path, message, position }: VerificationFault): string {
  const place = position === undefined ? [] : [`line ${position.line}, column ${position.column}`];
  if (path === '') return [...place, message].join(': ');
  return `${[path, ...place.map((text) => `(${text})`)].join(' ')}: ${message}`;
}

/** Why the checks themselves failed. */
export function unexpected(error: unknown): VerificationFault {
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { path: '', message: 'the checks failed', detail };
}

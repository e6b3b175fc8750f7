import { nearest } from '@svc/edge';
import type { Capability } from '../capabilities/model.ts';
import { findingOf, type Finding } from './finding.ts';

const warn = findingOf('name-alike', 'warn');

/** A letter more or less, or two swapped, as in get_film and get_films: models take one for the other. */
export function namesAlike(capabilities: readonly Capability[]): readonly Finding[] {
  /** Names that are one letter apart share what is left without it, so not every pair has to be compared. */
  const byRest = new Map<string, string[]>();
  return capabilities.flatMap((capability) => {
    const { name } = capability;
    const rests = [name, ...Array.from(name, (_, at) => `${name.slice(0, at)}${name.slice(at + 1)}`)];
    const before = rests.flatMap((rest) => byRest.get(rest) ?? []);
    for (const rest of new Set(rests)) byRest.set(rest, [...(byRest.get(rest) ?? []), name]);
    const alike = nearest(
      name,
      before.filter((other) => withoutDigits(other) !== withoutDigits(name)),
      1,
    );
    if (alike === undefined) return [];
    return [warn(capability, capability, `has almost the name of \`${alike}\`: name what sets them apart`)];
  });
}

/** report_1 and report_11 are a row of their own. */
function withoutDigits(name: string): string {
  return name.replaceAll(/\d+/g, '');
}

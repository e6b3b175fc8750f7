import type { Contract } from './contract.ts';

/** What was not compared, for lack of knowledge. */
export function notesOn(old: Contract, now: Contract): readonly string[] {
  const sides = [old, now];
  const described = sides.filter(({ file }) => file === undefined).length;
  return [
    ...(described < sides.length
      ? [
          'a capability file is read without its database, which may narrow parameters further, to the range of a column or to the labels of an enum',
        ]
      : []),
    ...(described > 0
      ? [
          'a gateway shows what the API key may call, and neither limits nor queries, so those are not compared',
        ]
      : []),
  ];
}

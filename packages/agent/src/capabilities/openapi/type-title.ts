/**
 * The title of a capability's schema: `get_track` and `Result` make `GetTrackResult`. Generators call the type of an inline
 * schema by its title, most of them by the title alone, so it has to be unique and to have the form of a type's name. An
 * underscore stays where no capital letter can stand for it: in `track_2`, which is not `track2`, and where several meet.
 */
export function typeTitle(capability: string, kind: 'Params' | 'Result' | 'Row'): string {
  const words = capability
    .split('_')
    .map((word) => (/^[a-z]/.test(word) ? word.charAt(0).toUpperCase() + word.slice(1) : `_${word}`));
  return words.join('') + kind;
}

import { SETTINGS, type SettingText } from '../../packages/gateway/src/config/settings.ts';
import { code, table } from './markdown.ts';

const ENTRIES: readonly (readonly [name: string, setting: SettingText])[] = Object.entries(SETTINGS);

export function settingsTable(): string {
  const rows = ENTRIES.map(([name, setting]) => [
    `<a id="${name.toLowerCase()}"></a>${code(name)}`,
    setting.meaning,
    setting.accepted,
    absenceOf(setting),
  ]);
  return table(['Setting', 'Meaning', 'Accepted', 'When absent'], rows);
}

/** Undefined for a setting that takes the place of another. */
export function exampleOf({ absent, example }: SettingText): string | undefined {
  return example ?? (absent !== 'required' && 'value' in absent ? absent.value : undefined);
}

/** Every example as one file for `--env-file`. */
export function settingsExample(): string {
  return ENTRIES.flatMap(([name, setting]) => {
    const example = exampleOf(setting);
    return example === undefined ? [] : [`${name}=${/[$"]/.test(example) ? `'${example}'` : example}`];
  }).join('\n');
}

function absenceOf({ absent }: SettingText): string {
  if (absent === 'required') return 'a fault: **required**';
  return 'value' in absent ? code(absent.value) : absent.text;
}

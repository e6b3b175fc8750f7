import type { Given } from '@svc/edge';

/** Where the capabilities come from. */
type Source = { readonly file: string } | { readonly url: string };

export type ChosenSource = Source | { readonly problem: string };

const NOT_EXPANDED = 'no shell has expanded `~`; write the whole path';

/** Flags that say what to propose, for a database without a file. */
export const OF_URL = ['schema', 'tables', 'exclude', 'include', 'max'] as const;

/**
 * A flag, else the environment. A value that is wholly `${...}` counts as absent: clients pass on settings that their user
 * left empty.
 */
export function chooseSource(given: Given, env: Readonly<Record<string, string | undefined>>): ChosenSource {
  const flags = { file: present(given.value('config')), url: present(given.value('url')) };
  const variables = {
    file: present(env['AGENT_CAPABILITY_FILE']),
    url: present(env['SVC_DATABASE_URL']),
  };
  const ranked = [
    { ...flags, names: '--config and --url' },
    { ...variables, names: 'AGENT_CAPABILITY_FILE and SVC_DATABASE_URL' },
  ].find(({ file, url }) => file !== undefined || url !== undefined);
  if (ranked === undefined) {
    return {
      problem:
        'no capability file and no database is named: use --config FILE or --url URL, or set AGENT_CAPABILITY_FILE or SVC_DATABASE_URL',
    };
  }
  const { file, url, names } = ranked;
  if (file !== undefined && url !== undefined)
    return { problem: `${names} are both given: give one of them` };
  if (url !== undefined) {
    if (/^[a-z]+:(?:\/\/)?~\//i.test(url)) return { problem: `database: ${NOT_EXPANDED}` };
    return { url };
  }
  const misplaced = OF_URL.find((flag) => given.values(flag).length > 0);
  if (misplaced !== undefined)
    return { problem: `--${misplaced} is for --url: a capability file says itself what it serves` };
  if (file === undefined) throw new Error('no source was found');
  if (file.startsWith('~/')) return { problem: `${file}: ${NOT_EXPANDED}` };
  return { file };
}

/** Undefined also for a setting that its user left empty. */
export function present(value: string | undefined): string | undefined {
  return value === undefined || value === '' || /^\$\{[^{}]*\}$/.test(value) ? undefined : value;
}

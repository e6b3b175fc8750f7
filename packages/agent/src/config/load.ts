import { dirname, resolve } from 'node:path';
import { readProblem } from '@svc/edge';
import type { AgentConfig } from './model.ts';
import type { Fault } from '../capabilities/fault.ts';
import { buildConfig } from './build.ts';
import { checkFile } from './checks/check-file.ts';
import { findWarnings } from './checks/find-warnings.ts';
import { createFaultLog, type FaultLog } from './fault-log.ts';
import { isCapabilityFile, lint } from './schema/lint.ts';
import { nameAnother } from './name-another.ts';
import { readSecrets } from './secrets/read-secrets.ts';
import { readTelemetry } from './secrets/read-telemetry.ts';
import type { ReadFile } from './secrets/read-secrets.ts';
import { readYaml } from './yaml/read-yaml.ts';
import { isReplaced, replaceLink, type LinkOverride } from './replace-link.ts';
import { formatSize } from '../capabilities/size.ts';

export interface ConfigSource {
  /** Of the capability file; the files that it names are relative to its folder. */
  readonly path: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Throws what `fs.readFileSync` throws. */
  readonly readFile: ReadFile;
  /** Takes the place of the link of the file, which then need not be there. */
  readonly link?: LinkOverride | undefined;
}

/** Tens of thousands of capabilities; reading that many takes seconds. */
const MAX_FILE_BYTES = 4 * 1024 ** 2;

export type LoadedConfig =
  | { readonly config: AgentConfig; readonly warnings: readonly Fault[] }
  | { readonly faults: readonly Fault[] };

/**
 * Reads the capability file (docs/reference/capability-file.md): the configuration, or everything
 * that is wrong with it in the order of the file. No fault holds a secret, SQL or the value of a variable.
 */
export function loadConfig({ path, env, readFile, link }: ConfigSource): LoadedConfig {
  const faults = createFaultLog();
  const document = readDocument({ path, env, readFile }, faults);
  if ('faults' in document) return document;
  const root = link === undefined ? document.root : replaceLink(document.root, link);
  lint(root, faults);
  const warnings = checkFile(root, faults);
  const { privateKeySeed, headersText, ...texts } = readSecrets(root, path, readFile, faults);
  const traces = readTelemetry(root, { env, readFile, headersText }, faults);

  const found = faults.list().filter((fault) => link === undefined || !isReplaced(fault.path));
  if (found.length > 0 || !isCapabilityFile(root) || privateKeySeed === undefined) {
    return { faults: found };
  }
  const positionOf = (at: readonly string[]) => faults.placeOf(at)?.key ?? { line: 1, column: 1 };
  const resolveFile = (name: string): string => resolve(dirname(path), name);
  return {
    config: buildConfig(root, { privateKeySeed, traces, ...texts }, { positionOf, resolveFile }),
    warnings: [
      ...warnings.map((message) => {
        const at = ['identity', 'issuers'];
        return { path: at.join('.'), message, position: positionOf(at) };
      }),
      ...findWarnings(root, faults),
    ],
  };
}

/** The tree of the file; what is wrong in it goes to `faults`, too. */
export function readDocument(
  { path, env, readFile }: ConfigSource,
  faults: FaultLog,
): { readonly root: unknown } | { readonly faults: readonly Fault[] } {
  let text: string;
  try {
    const bytes = readFile(path);
    if (bytes.length > MAX_FILE_BYTES) {
      const size = formatSize(MAX_FILE_BYTES);
      return { faults: [{ path: '', message: `cannot read the file: it is larger than ${size}` }] };
    }
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    const problem = readProblem(error);
    const message = `cannot read the file: ${problem}; ${nameAnother(path)}`;
    return { faults: [{ path: '', message }] };
  }
  const document = readYaml(text, env, faults);
  if (document === undefined) return { faults: faults.list() };
  return document.root === null
    ? {
        faults: [
          { path: '', message: 'the file is empty: it needs `gateway`, `database` and `capabilities`' },
        ],
      }
    : document;
}

import { PARAMS_MAX_BYTES } from '@svc/protocol';
import { integerUpTo, parseBoolean } from './parse/values.ts';
import { createReadSettings, type Environment, type Fault } from './read-settings.ts';

export const BODY_MAX_BYTES = 1_048_576;

/** What of the settings also counts where messages come by standard input. */
interface MessageSettings {
  readonly maxBytes: number;
  /** Undefined if the setting is absent. */
  readonly outputSchemas: boolean | undefined;
}

export function loadMessageSettings(
  env: Environment,
): MessageSettings | { readonly faults: readonly Fault[] } {
  const { faults, read } = createReadSettings(env);
  const maxBytes = read('GATEWAY_MAX_REQUEST_BODY_BYTES', integerUpTo(PARAMS_MAX_BYTES)) ?? BODY_MAX_BYTES;
  const outputSchemas = read('GATEWAY_MCP_OUTPUT_SCHEMA', parseBoolean);
  return faults.length > 0 ? { faults } : { maxBytes, outputSchemas };
}

import type { Capability, ParamSchema } from '../../../../capabilities/model.ts';
import type { VerificationFault } from '../../../driver/errors.ts';
import type { BoundParam } from '../../execute/prepared-query.ts';
import { STEP_TIMEOUT_MS } from '../plan-statement.ts';
import type { SessionPool } from '../../pool/session-pool.ts';
import { bindValue } from '../../execute/bind-values.ts';
import { refusedValues } from '../../execute/value-faults.ts';

/**
 * The SQL must take the values that the file itself names, in `default` and `enum`: the file was checked by the declared
 * types only. Throws `DatabaseError`.
 */
export async function checkPresets(
  pool: SessionPool,
  capability: Capability,
  params: readonly BoundParam[],
): Promise<readonly VerificationFault[]> {
  const presets = params.flatMap((param) => {
    const declared = capability.params.find(({ name }) => name === param.param.name);
    return declared === undefined ? [] : presetsOf(param, declared.schema);
  });
  if (presets.length === 0) return [];
  const settings = { apiKeyName: '', capability: capability.name, requestId: '' };
  const limit = { signal: new AbortController().signal, timeoutMs: STEP_TIMEOUT_MS };
  const { refused } = await refusedValues(pool, settings, presets, limit);
  return refused.flatMap(({ index, problem }) => {
    const preset = presets[index];
    if (preset === undefined) return [];
    const { name, position } = preset.param.param;
    const path = `capabilities.${capability.name}.params.${name}.${preset.key}`;
    return [{ path, position, message: problem }];
  });
}

function presetsOf(
  param: BoundParam,
  schema: ParamSchema,
): readonly {
  readonly param: BoundParam;
  readonly key: string;
  readonly text: string | null;
}[] {
  // The file's check covers the declared type.
  if (param.type === undefined) return [];
  const { default: preset, enum: choices = [], items } = schema;
  const lists = (items?.enum ?? []).map((item) => [item]);
  return [
    ...choices.map((value, index) => ({ key: `enum.${index}`, value })),
    ...lists.map((value, index) => ({ key: `items.enum.${index}`, value })),
    ...(preset === undefined ? [] : [{ key: 'default', value: preset }]),
  ].map(({ key, value }) => ({ param, key, text: bindValue(schema, value) }));
}

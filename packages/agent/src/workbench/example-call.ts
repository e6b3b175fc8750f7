import { compileParameters } from '../capabilities/parameters.ts';
import { TEXT_FORMATS, type Capability, type ParamSchema } from '../capabilities/model.ts';
import { isShown } from '../capabilities/openapi/params-schema.ts';
import { compileValue } from '../capabilities/values/value-check.ts';

/** A call whose parameters are valid; it may find no rows. */
export interface ExampleCall {
  readonly capability: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/**
 * Prefers a capability that publishes an example, then one that needs no parameter, since no row has an invented key, then
 * any for which parameters can be invented. Capabilities that take something from who calls come last.
 */
export function exampleCall(capabilities: readonly Capability[]): ExampleCall | undefined {
  const isPinned = ({ params }: Capability): boolean => params.some(({ from }) => from !== undefined);
  const rank = (capability: Capability): number =>
    Number(isPinned(capability)) * 4 +
    Number(publishedParams(capability) === undefined) * 2 +
    Number(capability.params.some(({ required, from }) => required && from === undefined));
  for (const capability of capabilities.toSorted((a, b) => rank(a) - rank(b))) {
    const params = publishedParams(capability) ?? plausibleParams(capability);
    if (params !== undefined) return { capability: capability.name, params };
  }
  return undefined;
}

function publishedParams({ examples }: Capability): ExampleCall['params'] | undefined {
  return examples?.find(isShown)?.params;
}

function plausibleParams(capability: Capability): ExampleCall['params'] | undefined {
  const needed = capability.params.filter(({ required, from }) => required && from === undefined);
  const params = Object.fromEntries(needed.map(({ name, schema }) => [name, plausible(schema)]));
  try {
    compileParameters(capability)(Buffer.from(JSON.stringify(params)));
    return params;
  } catch {
    // For example, a pattern: no text is invented for one.
    return undefined;
  }
}

const FORMATS: Readonly<Record<string, string>> = {
  email: 'someone@example.com',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000001',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  hostname: 'example.com',
  date: '2024-01-31',
  'date-time': '2024-01-31T12:00:00Z',
};

function plausible(schema: ParamSchema): unknown {
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.default !== undefined) return schema.default;
  switch (schema.type) {
    case 'integer':
    case 'number':
      return plausibleNumber(schema);
    case 'string':
    case 'date':
    case 'datetime':
    case 'uuid': {
      const format = TEXT_FORMATS[schema.type] ?? schema.format ?? '';
      return FORMATS[format] ?? 'a'.repeat(Math.max(1, schema.minLength ?? 1));
    }
    case 'boolean':
      return true;
    case 'array':
      return schema.items === undefined
        ? []
        : Array.from({ length: schema.minItems ?? 1 }, () => plausible(schema.items ?? schema));
    case 'object':
      return {};
  }
}

/** 1 if that is valid: most numbers are keys and limits. */
function plausibleNumber(schema: ParamSchema): number | undefined {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf: step = 1 } = schema;
  const least = Math.max(minimum ?? -Infinity, exclusiveMinimum ?? -Infinity);
  const most = Math.min(maximum ?? Infinity, exclusiveMaximum ?? Infinity);
  const above = Math.ceil(least / step) * step;
  const below = Math.floor(most / step) * step;
  const check = compileValue(schema);
  return [step, above, above + step, below, below - step, (least + most) / 2].find(
    (value) => check(value).problems.length === 0,
  );
}

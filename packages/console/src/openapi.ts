export interface OpenApi {
  readonly servers?: readonly { readonly url: string }[];
  readonly paths: Readonly<Record<string, { readonly post?: Operation }>>;
}

interface Operation {
  readonly operationId: string;
  readonly description?: string;
  readonly requestBody: {
    readonly content: { readonly 'application/json': { readonly schema: ParamsSchema } };
  };
}

interface ParamsSchema {
  readonly properties?: Readonly<Record<string, ParamSchema>>;
  readonly required?: readonly string[];
  readonly examples?: readonly Readonly<Record<string, unknown>>[];
}

interface ParamSchema {
  readonly type: string | readonly string[];
  readonly description?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly maxLength?: number;
}

export interface Capability {
  readonly name: string;
  readonly path: string;
  readonly description: string;
  readonly params: readonly Param[];
  /** A published example, by parameter. */
  readonly example: Readonly<Record<string, unknown>>;
  /** What a model reads of it, roughly. */
  readonly tokens: number;
}

export interface Param {
  readonly name: string;
  readonly isRequired: boolean;
  readonly type: string;
  readonly schema: ParamSchema;
}

const BYTES_PER_TOKEN = 4;
/** By its name and length a parameter is known that `paging` of the capability file has made. */
const CURSOR = { name: 'cursor', maxLength: 8192 };

export function capabilitiesOf({ paths }: OpenApi): readonly Capability[] {
  return Object.entries(paths).flatMap(([path, { post }]) => {
    if (post === undefined) return [];
    const { operationId: name, description = '', requestBody } = post;
    const { schema } = requestBody.content['application/json'];
    const { properties = {}, required = [], examples = [] } = schema;
    const params = Object.entries(properties).flatMap(([param, rules]): readonly Param[] => {
      // Nobody types it: the button for the next page sends it.
      if (param === CURSOR.name && rules.maxLength === CURSOR.maxLength) return [];
      const types = typeof rules.type === 'string' ? [rules.type] : rules.type;
      const type = types.find((candidate) => candidate !== 'null') ?? 'string';
      return [{ name: param, isRequired: required.includes(param), type, schema: rules }];
    });
    const tokens = Math.ceil(
      (name.length + description.length + JSON.stringify(schema).length) / BYTES_PER_TOKEN,
    );
    return [{ name, path, description, params, example: examples[0] ?? {}, tokens }];
  });
}

/** The parts of `/openapi.json` that tests look into. */
export interface OpenApi {
  readonly openapi: string;
  readonly info: Readonly<Record<string, unknown>>;
  readonly servers: readonly { readonly url: string }[];
  readonly security: unknown;
  readonly paths: Readonly<Record<string, { readonly post: Operation }>>;
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, unknown>>;
    readonly responses: Readonly<Record<string, Content>>;
    readonly schemas: Readonly<Record<string, JsonSchema>>;
  };
}

export interface JsonSchema {
  readonly type?: unknown;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly [keyword: string]: unknown;
}

export interface Operation {
  readonly operationId: string;
  readonly description: string;
  readonly requestBody: Content & { readonly required: boolean };
  readonly responses: Readonly<Record<string, Content | { readonly $ref: string }>>;
}

export interface Content {
  readonly content: {
    readonly 'application/json': {
      readonly schema: JsonSchema;
      readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
    };
  };
}

export function pathOf(capability: string): string {
  return `/api/v1/capabilities/${capability}`;
}

export function parseOpenApi(text: string): OpenApi {
  const document: OpenApi = JSON.parse(text);
  return document;
}

/** Throws when the document does not have the capability. */
export function operationOf(document: OpenApi, capability: string): Operation {
  const operation = document.paths[pathOf(capability)]?.post;
  if (operation === undefined) throw new Error(`no operation ${capability}`);
  return operation;
}

export function requestSchema(document: OpenApi, capability: string): JsonSchema {
  return operationOf(document, capability).requestBody.content['application/json'].schema;
}

/** The response of a status, references followed; undefined when the status is not described. */
export function responseOf(document: OpenApi, capability: string, status: number): Content | undefined {
  const response = operationOf(document, capability).responses[status];
  if (response === undefined || !('$ref' in response)) return response;
  return document.components.responses[response.$ref.replace('#/components/responses/', '')];
}

/** The schema of a row. Throws when there is none. */
export function rowSchema(document: OpenApi, capability: string): JsonSchema {
  const schema = responseOf(document, capability, 200)?.content['application/json'].schema;
  const row = schema?.properties?.['rows']?.items;
  if (row === undefined) throw new Error(`no row of ${capability}`);
  return row;
}

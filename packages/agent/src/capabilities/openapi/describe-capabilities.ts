import {
  CAPABILITY_PATH_PREFIX,
  type Description,
  type ManifestEntry,
  type OpenApiDocument,
} from '@svc/protocol';
import type { Capability, Param, ServiceInfo } from '../model.ts';
import { errorResponses, responseComponents, responseHeaders } from './error-responses.ts';
import { paramsSchema } from './params-schema.ts';
import { resultSchema, typeTitle } from './result-schema.ts';

const TAG = 'capabilities';

interface DescribedAgent {
  readonly service: ServiceInfo;
  readonly capabilities: readonly Capability[];
  /** Absent if the agent does not ask who calls. */
  readonly identity?: { readonly maxAgeSeconds?: number };
}

/**
 * Describes the capabilities in the order of the file. Paths hold those that are
 * exposed, the manifest all. The gateway adds `servers`. Holds no SQL and nothing of the database.
 */
export function describeCapabilities({ service, capabilities, identity }: DescribedAgent): Description {
  const exposed = capabilities.filter(({ exposeInOpenapi }) => exposeInOpenapi);
  return {
    openapi: {
      openapi: '3.1.0',
      info: documentInfo(service),
      security: [{ bearer: [] }, { apiKey: [] }],
      tags: [{ name: TAG, description: 'Named, parameterised, read-only queries.' }],
      paths: Object.fromEntries(
        exposed.map((capability) => [
          `${CAPABILITY_PATH_PREFIX}${capability.name}`,
          { post: operation(capability) },
        ]),
      ),
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'The API key as a bearer token.' },
          apiKey: {
            type: 'apiKey',
            in: 'header',
            name: 'X-API-Key',
            description: 'The API key in a header of its own.',
          },
        },
        ...responseComponents(identity !== undefined),
      },
    },
    manifest: capabilities.map(({ name, exposeInOpenapi, limits, params, paging }) => ({
      name,
      exposed: exposeInOpenapi,
      timeout_ms: limits.timeoutMs,
      ...needsOf(params),
      ...(paging === undefined ? {} : { paging }),
    })),
    ...(identity?.maxAgeSeconds === undefined ? {} : { identity: { max_age: identity.maxAgeSeconds } }),
  };
}

function needsOf(params: readonly Param[]): Pick<ManifestEntry, 'needs'> {
  const needs = new Set(params.flatMap(({ from }) => from ?? []));
  return needs.size === 0 ? {} : { needs: [...needs].toSorted() };
}

function documentInfo({ title, version, description }: ServiceInfo): OpenApiDocument['info'] {
  // Strict linters require contact and licence; the file has neither, so these texts are true of every service.
  const required = {
    contact: { name: `Operator of ${title}` },
    license: { name: 'As agreed with the operator', identifier: 'LicenseRef-operator' },
  };
  return { title, version, ...(description === '' ? {} : { description }), ...required };
}

function operation(capability: Capability): Readonly<Record<string, unknown>> {
  const { name, description } = capability;
  const title = titleOf(name);
  return {
    operationId: name,
    summary: title,
    description: description === '' ? title : description,
    tags: [TAG],
    requestBody: {
      required: true,
      content: {
        'application/json': { schema: { title: typeTitle(name, 'Params'), ...paramsSchema(capability) } },
      },
    },
    responses: {
      '200': {
        description: 'The rows.',
        headers: responseHeaders,
        content: { 'application/json': { schema: resultSchema(capability) } },
      },
      ...errorResponses,
    },
  };
}

/** `find_book` reads `Find book`. */
function titleOf(name: string): string {
  const words = name.replaceAll('_', ' ').trim();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

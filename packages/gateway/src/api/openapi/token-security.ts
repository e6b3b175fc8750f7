import type { Issuer } from '@svc/identity';
import type { OpenApiDocument } from '@svc/protocol';

/** Adds a security scheme for each advertised issuer, and the error that only gateways with issuers or revocations have. */
export function withTokenSecurity(
  document: OpenApiDocument,
  issuers: readonly Issuer[],
  keysMayWait: boolean,
): OpenApiDocument {
  const { security, components } = document;
  if (issuers.length === 0) {
    if (!keysMayWait) return document;
    const all = membersOf(components);
    return { ...document, components: { ...all, ...withIssuerUnavailable(all) } };
  }
  const advertised = issuers.filter(({ advertise }) => advertise);
  const schemes = advertised.map((issuer) => [schemeName(issuer), schemeOf(issuer)] as const);
  return {
    ...document,
    security: [...(Array.isArray(security) ? security : []), ...schemes.map(([name]) => ({ [name]: [] }))],
    components: {
      ...membersOf(components),
      ...withIssuerUnavailable(membersOf(components)),
      securitySchemes: {
        ...membersOf(membersOf(components)['securitySchemes']),
        ...Object.fromEntries(schemes),
      },
    },
  };
}

/** Clients that handle the codes of a status by its enum would fail at a code that is not in it. */
function withIssuerUnavailable({ schemas }: Readonly<Record<string, unknown>>): object {
  const { Unavailable } = membersOf(schemas);
  const properties = membersOf(membersOf(Unavailable)['properties']);
  const error = membersOf(properties['error']);
  const errorProperties = membersOf(error['properties']);
  const code = membersOf(errorProperties['code']);
  const { enum: codes } = code;
  // A document without operations has no shared schemas.
  if (!Array.isArray(codes)) return {};
  const named = { ...code, enum: [...codes, 'GATEWAY_ISSUER_UNAVAILABLE'] };
  const widened = { ...error, properties: { ...errorProperties, code: named } };
  const unavailable = { ...membersOf(Unavailable), properties: { ...properties, error: widened } };
  return { schemas: { ...membersOf(schemas), Unavailable: unavailable } };
}

/** Agents never use this prefix. */
function schemeName({ name }: Issuer): string {
  return `token_${name}`;
}

function schemeOf({ name, issuer, keySource }: Issuer): object {
  const description = `An access token of ${name} as a bearer token.`;
  return keySource.kind === 'discovery'
    ? {
        type: 'openIdConnect',
        openIdConnectUrl: `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`,
        description,
      }
    : { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description };
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

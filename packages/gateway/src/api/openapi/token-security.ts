import type { Issuer } from '@svc/identity';
import type { OpenApiDocument } from '@svc/protocol';

/** The document with a security scheme for each issuer that is told of; itself where there is none. */
export function withTokenSecurity(document: OpenApiDocument, issuers: readonly Issuer[]): OpenApiDocument {
  const advertised = issuers.filter(({ advertise }) => advertise);
  if (advertised.length === 0) return document;
  const { security, components } = document;
  const schemes = advertised.map((issuer) => [schemeName(issuer), schemeOf(issuer)] as const);
  return {
    ...document,
    security: [...(Array.isArray(security) ? security : []), ...schemes.map(([name]) => ({ [name]: [] }))],
    components: {
      ...membersOf(components),
      securitySchemes: {
        ...membersOf(membersOf(components)['securitySchemes']),
        ...Object.fromEntries(schemes),
      },
    },
  };
}

/** No agent names its schemes so. */
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

import { DEFAULT_SERVICE, SERVICE_ID_PATTERN } from '@svc/protocol';

const SERVICE_ID = new RegExp(SERVICE_ID_PATTERN);
export const SERVICE_ID_ACCEPTED = 'a lower-case letter, then up to 47 lower-case letters, digits or -';

/** The same rule as for `service.id` of the capability file. */
export function isServiceId(text: string): boolean {
  return SERVICE_ID.test(text);
}

/** The id of a principal of this service: what is kept or counted by it is kept and counted for each service. */
export function principalIdIn(service: string, id: string): string {
  return service === DEFAULT_SERVICE ? id : `${service}/${id}`;
}

export function pathPrefixOf(service: string): string {
  return service === DEFAULT_SERVICE ? '' : `/s/${service}`;
}

/** The audience of access tokens for this service. */
export function resourceOf(publicUrl: string, service: string): string {
  return `${publicUrl}${pathPrefixOf(service)}/mcp`;
}

import { CAPABILITY_PATH_PREFIX, type Description } from '@svc/protocol';

const ROW_FIELDS = [
  'post',
  'responses',
  '200',
  'content',
  'application/json',
  'schema',
  'properties',
  'rows',
  'items',
  'properties',
];

/** The fields of a capability's rows, in their order; none when the description does not show the capability. */
export function describedFields(description: Description | undefined, capability: string): readonly string[] {
  let found: unknown = description?.openapi.paths[`${CAPABILITY_PATH_PREFIX}${capability}`];
  for (const key of ROW_FIELDS) found = Object(found)[key];
  return Object.keys(Object(found));
}

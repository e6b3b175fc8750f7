/** The capabilities that a principal may call: all of them, or these. */
export type Permissions = '*' | ReadonlySet<string>;

/** The one rule behind REST, tools/call, tools/list and /openapi.json. */
export function permits(permissions: Permissions, capability: string): boolean {
  return permissions === '*' || permissions.has(capability);
}

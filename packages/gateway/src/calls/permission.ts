import type { Permission } from '../keys/key-record.ts';

/** The one rule behind REST, tools/call, tools/list and /openapi.json (specification, section 5.1). */
export function permits(permission: Permission, capability: string): boolean {
  return permission === '*' || permission.has(capability);
}

import type { Permission } from './api-keys/key-record.ts';

/** The one rule behind REST, tools/call, tools/list and /openapi.json. */
export function permits(permission: Permission, capability: string): boolean {
  return permission === '*' || permission.has(capability);
}

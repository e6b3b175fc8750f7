/** Stands before each statement of a capability, whose name has letters, digits and underscores only. */
export function attribution(capability: string): string {
  return `/* svc:${capability} */ `;
}

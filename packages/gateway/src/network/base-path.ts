/** The path of a public URL without a slash at its end; empty when it has no path. */
export function basePathOf(publicUrl: string | undefined): string {
  return publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, '');
}

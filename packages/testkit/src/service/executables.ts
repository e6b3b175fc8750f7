import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '../../../..');

/** The built executables, as users run them; `npm test` builds them first. */
export const SVC_GATEWAY: string = join(root, 'dist/svc-gateway');
export const SVC_AGENT: string = join(root, 'dist/svc-agent');
export const SVC: string = join(root, 'dist/svc');

/** Others to start in place of the built ones. */
export interface Executables {
  readonly gateway: string;
  readonly agent: string;
}

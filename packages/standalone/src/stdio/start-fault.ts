import type { VerificationFault } from '@svc/agent';
import type { StartFault } from './start-state.ts';

const FAULTS_IN_MESSAGE = 3;
const MESSAGE_MAX_CHARACTERS = 1000;
const FAULTS_IN_DATA = 20;

/** `FILE: PATH: fault; ...` */
export function startFault(file: string, faults: readonly VerificationFault[]): StartFault {
  const shown = faults
    .slice(0, FAULTS_IN_MESSAGE)
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  const more = faults.length - shown.length;
  const where = file === '' ? '' : `${file}: `;
  const text = `svc cannot start: ${where}${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
  return {
    message: text.length <= MESSAGE_MAX_CHARACTERS ? text : `${text.slice(0, MESSAGE_MAX_CHARACTERS - 3)}...`,
    faults: faults
      .slice(0, FAULTS_IN_DATA)
      .map(({ path, message, position }) => ({ path, message, ...position })),
  };
}

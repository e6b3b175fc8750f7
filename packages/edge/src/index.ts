export { tolerateClosedOutput } from './closed-output.ts';
export { DURATION_PATTERN, parseDuration } from './duration.ts';
export { errorText } from './error-text.ts';
export { firstSignal } from './first-signal.ts';
export { createJsonLines, printable, type JsonLines, type LineSink } from './json-lines.ts';
export { nearest, nearestWithin } from './nearest.ts';

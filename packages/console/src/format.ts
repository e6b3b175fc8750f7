export function rate(perSecond: number): string {
  return `${short(perSecond)}/s`;
}

/** A number and its unit stay on one line. */
export function milliseconds(ms: number | null): string {
  return ms === null ? '–' : `${short(ms)}\u00a0ms`;
}

export function percent(ratio: number): string {
  return `${short(ratio * 100)}\u00a0%`;
}

function short(value: number): number {
  return value >= 100 ? Math.round(value) : Number(value.toPrecision(2));
}

/** Of a time of RFC 3339, in the reader's zone. */
export function clock(time: string): string {
  return new Date(time).toLocaleTimeString(undefined, { hour12: false });
}

export function dateTime(time: string | undefined): string {
  return time === undefined ? '–' : new Date(time).toLocaleString(undefined, { hour12: false });
}

const UNITS: Readonly<Record<string, number>> = { '': 1, B: 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3 };

/** The form of a size; `parseSize` accepts nothing else. */
export const SIZE_PATTERN = '^[0-9]{1,15}(?: ?([Kk][Bb]|[Mm][Bb]|[Gg][Bb]|[Bb]))?$';

const SIZE = new RegExp(SIZE_PATTERN);

/**
 * The bytes of a size such as `10MB`; units are powers of 1024, a bare integer counts bytes.
 * NaN when it is no size or is beyond 2^53-1 bytes.
 */
export function parseSize(size: string | number): number {
  const text = String(size);
  if (!SIZE.test(text)) return Number.NaN;
  const unit = UNITS[text.replace(/[0-9 ]/g, '').toUpperCase()] ?? Number.NaN;
  const bytes = Number.parseInt(text, 10) * unit;
  return Number.isSafeInteger(bytes) ? bytes : Number.NaN;
}

/** A number of bytes in the largest unit that divides it, for messages. */
export function formatSize(bytes: number): string {
  for (const unit of ['GB', 'MB', 'KB']) {
    const factor = UNITS[unit] ?? 1;
    if (bytes > 0 && bytes % factor === 0) return `${bytes / factor}${unit}`;
  }
  return `${bytes}B`;
}

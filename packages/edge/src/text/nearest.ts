/**
 * The candidate with the smallest edit distance from `word`, the first of several; undefined when every distance is
 * above `limit`. Adding or removing a character counts one, as does swapping two adjacent ones. Replacing a character
 * counts two, so that an abbreviation is nearer to its long form than to a short word that has nothing to do with it.
 */
export function nearest(
  word: string,
  candidates: Iterable<string>,
  limit: number = Number.POSITIVE_INFINITY,
): string | undefined {
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const distance = editDistance(word.slice(0, 100), candidate);
    if (distance < bestDistance && distance <= limit) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

const HINT_LIMIT = 4;

/** The candidate that a misspelt word most likely means; undefined when none is close enough for a hint. */
export function nearestWithin(word: string, candidates: Iterable<string>): string | undefined {
  return nearest(word, candidates, Math.min(HINT_LIMIT, word.length + 1));
}

function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current.push(
        Math.min(
          cell(last, column) + 1,
          cell(current, column - 1) + 1,
          cell(last, column - 1) + (same ? 0 : 2),
          swapped ? cell(beforeLast, column - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    beforeLast = last;
    last = current;
  }
  return cell(last, to.length);
}

function cell(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}

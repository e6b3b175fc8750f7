import { byPosition, type Fault, type Position } from '../capabilities/fault.ts';
import { dottedPath, type Path } from './path.ts';

interface Place {
  readonly key: Position;
  readonly value: Position;
  /** Whether it is a mapping or a list: faults point at its key, those of a scalar at the value. */
  readonly collection: boolean;
  /** The text before `${NAME}` was replaced; absent if nothing was. */
  readonly written?: string;
  /** The source of a text whose lines YAML joins. */
  readonly folded?: string;
  /** Whether the value was only one `${NAME}`. */
  readonly reference: boolean;
}

/** Collects the faults of the file and knows where each path stands in it. */
export interface FaultLog {
  place(path: Path, place: Place): void;
  placeOf(path: Path): Place | undefined;
  /** Points at the value, or at the nearest mapping or list around it that exists. Keeps one fault for a path. */
  add(path: Path, message: string): void;
  /** As `add`, but points at the key. */
  addForKey(path: Path, message: string): void;
  addAt(position: Position, path: Path, message: string): void;
  has(path: Path): boolean;
  /** In the order of the file. */
  list(): readonly Fault[];
}

export function createFaultLog(): FaultLog {
  const places = new Map<string, Place>();
  const faults = new Map<string, Fault>();

  function nearestPlace(path: Path): Place | undefined {
    for (let length = path.length; length >= 0; length -= 1) {
      const place = places.get(JSON.stringify(path.slice(0, length)));
      if (place !== undefined) return place;
    }
    return undefined;
  }

  function record(path: Path, message: string, position: Position | undefined): void {
    const id = JSON.stringify(path);
    // The first fault of a value is the cause of the others.
    if (faults.has(id)) return;
    faults.set(id, { path: dottedPath(path), message, ...(position === undefined ? {} : { position }) });
  }

  return {
    place: (path, place) => void places.set(JSON.stringify(path), place),
    placeOf: (path) => places.get(JSON.stringify(path)),
    add(path, message) {
      const place = nearestPlace(path);
      record(path, message, place?.collection === true ? place.key : place?.value);
    },
    addForKey: (path, message) => record(path, message, nearestPlace(path)?.key),
    addAt(position, path, message) {
      faults.set(`${position.line}:${position.column} ${message}`, {
        path: dottedPath(path),
        message,
        position,
      });
    },
    has: (path) => faults.has(JSON.stringify(path)),
    list: () => [...faults.values()].toSorted(byPosition),
  };
}

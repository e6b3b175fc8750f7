import { byPosition, type Fault, type Position } from '../capabilities/fault.ts';
import { dottedPath, type Path } from './path.ts';

/** Where a value stands in the file. */
interface Place {
  readonly key: Position;
  readonly value: Position;
  /** A mapping or a list: it is pointed at by its key, a scalar by itself. */
  readonly collection: boolean;
  /** The text before `${NAME}` was replaced, when something was. */
  readonly written?: string;
  /** As it stands in the file, of a text whose lines YAML joins. */
  readonly folded?: string;
  /** Nothing but one `${NAME}`. */
  readonly reference: boolean;
}

/** Gathers what is wrong with the file and knows where each path stands in it. */
export interface FaultLog {
  place(path: Path, place: Place): void;
  placeOf(path: Path): Place | undefined;
  /** Points at the value, or at the nearest mapping or list around it that exists. Keeps one fault for a path. */
  add(path: Path, message: string): void;
  /** Like `add`, but points at the key. */
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
    // The first fault of a value is the cause: later checks of the same value fail because of it.
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

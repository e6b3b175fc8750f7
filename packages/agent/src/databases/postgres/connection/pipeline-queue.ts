/** One unit on its way over a session, from when it is sent until it has landed. */
export interface Passage {
  /** What it runs. */
  readonly texts: readonly string[];
  /** Whoever waits for it shall ask elsewhere: it stays under way, and nobody waits for it any more. */
  readonly move: () => void;
  /** Those before it have landed. */
  readonly onFirst: () => void;
}

/** What is under way on one session, in the order in which it was sent. The server runs the first only. */
export interface Lane {
  /** Whether another may be sent behind what is under way. */
  readonly isOpen: boolean;
  readonly length: number;
  /** How long the first has taken at the server, in milliseconds: the time on the network is not counted. */
  readonly firstRanMs: number;
  /** Of everything under way. */
  readonly texts: readonly string[];
  isFirst(passage: Passage): boolean;
  enter(passage: Passage): void;
  leave(passage: Passage): void;
  /** Lets nobody in and moves away all that wait behind the first. */
  shut(): void;
  /**
   * As `shut`, for all but this one. True when the session is now this one's to put in order, false when it is another's
   * already.
   */
  close(passage: Passage): boolean;
  reopen(): void;
}

/** `roundTripMs` is what anything takes on this connection; what is quicker corrects it, and nothing raises it. */
export function createLane(roundTripMs: number, now: () => number = () => performance.now()): Lane {
  const passages: Passage[] = [];
  /** When each of them was sent. */
  const sentAt: number[] = [];
  let firstSince = 0;
  let networkMs = roundTripMs;
  let isOpen = true;
  let owner: Passage | undefined;

  function shutFor(kept: Passage | undefined): void {
    isOpen = false;
    for (const passage of passages) if (passage !== kept) passage.move();
  }

  return {
    get isOpen() {
      return isOpen;
    },
    get length() {
      return passages.length;
    },
    get firstRanMs() {
      return Math.max(0, now() - Math.max(firstSince, (sentAt[0] ?? 0) + networkMs));
    },
    get texts() {
      return passages.flatMap(({ texts }) => texts);
    },
    isFirst: (passage) => passages[0] === passage,
    enter(passage) {
      const at = now();
      if (passages.length === 0) firstSince = at;
      passages.push(passage);
      sentAt.push(at);
    },
    leave(passage) {
      const at = passages.indexOf(passage);
      if (at < 0) return;
      const landedAt = now();
      networkMs = Math.min(networkMs, landedAt - (sentAt[at] ?? 0));
      passages.splice(at, 1);
      sentAt.splice(at, 1);
      if (at > 0) return;
      firstSince = landedAt;
      passages[0]?.onFirst();
    },
    shut: () => shutFor(passages[0]),
    close(passage) {
      shutFor(passage);
      owner ??= passage;
      return owner === passage;
    },
    reopen() {
      isOpen = true;
      owner = undefined;
    },
  };
}

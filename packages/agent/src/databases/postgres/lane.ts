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
  /** When the first became the first, by `performance.now()`. */
  readonly firstSince: number;
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

export function createLane(): Lane {
  const passages: Passage[] = [];
  let firstSince = 0;
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
    get firstSince() {
      return firstSince;
    },
    get texts() {
      return passages.flatMap(({ texts }) => texts);
    },
    isFirst: (passage) => passages[0] === passage,
    enter(passage) {
      if (passages.length === 0) firstSince = performance.now();
      passages.push(passage);
    },
    leave(passage) {
      const at = passages.indexOf(passage);
      if (at < 0) return;
      passages.splice(at, 1);
      if (at > 0) return;
      firstSince = performance.now();
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

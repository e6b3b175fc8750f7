/** Kinds of questions that the engine of the tests is asked. */
export const ASK = { echo: 1, spin: 2, hog: 3, exit: 4, never: 5, interrupt: 6, raw: 7 } as const;

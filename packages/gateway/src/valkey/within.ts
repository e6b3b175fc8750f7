export const LATE: unique symbol = Symbol('late');

/** A process that was busy itself first takes in what has arrived meanwhile, before it calls an answer late. */
export async function within<T>(ms: number, answer: Promise<T>): Promise<T | typeof LATE> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(() => setImmediate(resolve, LATE), ms);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

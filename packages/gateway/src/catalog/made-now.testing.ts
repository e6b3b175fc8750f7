/** What is made of a short description is made at once. */
export function madeNow<Made>(made: Made | Promise<Made>): Made {
  if (made instanceof Promise) throw new Error('it is made in slices');
  return made;
}

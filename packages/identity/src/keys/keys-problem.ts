/** Why keys could not be had: one line for logs, with nothing of the keys. */
export class KeysProblem extends Error {
  /** The HTTP status that was answered in place of 200. */
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.name = 'KeysProblem';
    this.status = status;
  }
}

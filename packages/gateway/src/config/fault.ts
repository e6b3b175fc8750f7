/** One thing that is wrong with the configuration, fit to be shown: never a secret. */
export interface Fault {
  /** The environment variable, or for an environment file its line, e.g. `line 3`. */
  readonly setting: string;
  /** What is wrong and what is accepted. */
  readonly message: string;
}

/** What stands between callers and several gateways, and sends a call that one of them does not take to another. */
export interface HttpBalancer {
  readonly port: number;
  stop(): Promise<unknown>;
}

/** Where a gateway listens. */
export interface Target {
  readonly host: string;
  readonly port: number;
  /** Whether it speaks TLS; then its certificate is not checked. */
  readonly secure?: boolean;
}

/** What the variables OTEL_* say, checked, with every default. Plain data, for it is handed to other processes. */
export interface TracesConfig {
  /** Where the spans go, with its path. */
  readonly url: string;
  readonly protocol: 'http/json' | 'http/protobuf';
  readonly compression: 'gzip' | 'none';
  /** May hold secrets. */
  readonly headers: Readonly<Record<string, string>>;
  /** PEM texts for a collector that is reached by TLS. */
  readonly tls: { readonly ca?: string; readonly cert?: string; readonly key?: string };
  /** For one batch, all tries together. */
  readonly timeoutMs: number;
  readonly sampler: SamplerConfig;
  /** What every span says of the process that made it. */
  readonly resource: Readonly<Record<string, string>>;
  readonly queue: {
    /** Spans that may wait; those of one batch may be on their way besides. */
    readonly maxSpans: number;
    readonly batchSpans: number;
    readonly delayMs: number;
  };
}

export interface SamplerConfig {
  /** Whether a trace that another process has begun is followed as that process decided. */
  readonly parentBased: boolean;
  /** The share of all other traces: from 0 to 1. */
  readonly ratio: number;
}

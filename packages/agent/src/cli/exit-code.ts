/** The exit codes of `svc-agent`, as its help lists them. */
export const EXIT = { fine: 0, failure: 1, usage: 2, no: 3 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

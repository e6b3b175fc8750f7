import type { FlagSpec, ProgramSpec } from '@svc/edge';

const CONFIG: FlagSpec = {
  value: 'path',
  does: 'The capability file. Else AGENT_CAPABILITY_FILE, else `capability.yaml` in the folder of the real file of `svc-agent`.',
  suggest: 'file',
};

/** The command line of svc-agent. */
export const PROGRAM: ProgramSpec = {
  name: 'svc-agent',
  run: {
    does: 'Run the agent: check the capability file, the database and every capability, in this order, then connect to the gateway and answer calls until SIGTERM or Ctrl-C.',
    flags: {
      config: CONFIG,
      watch: {
        does: 'Take up changes of the capability file, and of the files that it names for secrets and certificates, within seconds. Without it a SIGHUP does so.',
      },
    },
  },
  commands: {
    check: {
      does: 'Do the same checks, print a report to standard output, and end. Does not connect to the gateway.',
      flags: {
        config: CONFIG,
        offline: {
          does: 'Ask no database. With --offline the SQL is parsed and its parameters are matched; tables, columns, types and functions are checked only with the database. Variables and files that the file names must be there.',
        },
        json: {
          does: 'Print one JSON object instead: `ok`, `file`, `offline`, `capabilities` (how many; absent where the file is not understood), `identity` (what it means; absent where the file has none), `workers` (processes that run the calls; absent where it is the agent alone), `faults` (each with `path`, `message` and, where it is known, `line` and `column`), `warnings` (what is allowed and will fail at some calls, likewise), `log` (the file that says more of them, if it does) and `account` (each `problem` with its `remedy`). Nothing is printed when the check itself fails, which ends with 1.',
        },
      },
    },
    schema: {
      does: 'Print the JSON Schema of the capability file, for editors.',
      flags: {},
    },
  },
  notes: `The capability file is --config, else AGENT_CAPABILITY_FILE, else capability.yaml next
to this binary. Details of faults are written to svc-agent.log, also next to it.

Exit codes: 0 fine, 1 failure at run time, 2 wrong usage or configuration.
`,
};

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
    dev: {
      does: 'Serve the capability file on this machine alone, and each save of it, until Ctrl-C. Starts the `svc-gateway` that stands beside this executable on 127.0.0.1, with an API key and a key pair made for this run, which take the place of what the file says of its gateway; of the link the file needs no key and no secrets. Prints the URL, the key and how to call. Each save is checked and served; while it has faults, what was there before is served on. A file with faults at the start ends with 2.',
      flags: {
        config: CONFIG,
        port: {
          value: 'number',
          does: 'The port to begin with, 8080 when it is not given: the next free one is taken. With 0 any.',
        },
        claim: {
          value: 'name=text',
          mayRepeat: true,
          does: '`name=text`, or `name:=json`: a claim of the API key, as in `svc-gateway create-key`, for capabilities that take one.',
        },
        'no-gateway': { does: 'Serve nothing, and check each save only.' },
        quiet: { does: 'Do not show the calls.' },
        json: {
          does: 'Print one JSON object a line instead, each with `event` and `time`: `ready` (`url`, `api_key`, `openapi_url`, `mcp_url`, `mcp`, `file`, how many `capabilities` and, for one of them, `capability`, `params` and `curl`), or `watching` without a gateway; `served` or, without a gateway, `checked` (`capabilities`, how many the database was asked about as `checked`, `duration_ms`; of `served` the names that were `added`, `changed` and `removed`); `refused` (`faults` as in `check`, `serves_on`); `call` (`request_id`, `name`, `status`, `duration_ms`, and where there are some `error_code`, `rows`, `bytes`); `note` (`message`).',
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

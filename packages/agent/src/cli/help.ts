/** What `svc-agent --help` prints. */
export const HELP: string = `Usage:
  svc-agent [--config <path>]
      Run the agent: check the capability file, the database and every capability,
      then connect to the gateway and answer calls until SIGTERM or Ctrl-C.

  svc-agent check [--config <path>] [--offline] [--json]
      Check the same and print a report, for programs as JSON; --offline checks what
      needs no database: the file, and the SQL as it is written.

  svc-agent schema
      Print the JSON Schema of the capability file, for editors.

  svc-agent --help | --version

The capability file is --config, else AGENT_CAPABILITY_FILE, else capability.yaml next
to this binary. Details of faults are written to svc-agent.log, also next to it.

Exit codes: 0 fine, 1 failure at run time, 2 wrong usage or configuration.
`;

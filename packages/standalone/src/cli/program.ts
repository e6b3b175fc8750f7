import type { FlagSpec, ProgramSpec } from '@svc/edge';

const CONFIG: FlagSpec = {
  value: 'path',
  does: 'The capability file; by default the one that AGENT_CAPABILITY_FILE names. No folder is searched.',
  suggest: 'file',
};

/** The command line of svc. */
export const PROGRAM: ProgramSpec = {
  name: 'svc',
  run: { does: 'Print this help: a command is needed.', flags: {} },
  commands: {
    stdio: {
      does: 'Serve MCP on standard input and output to the client that starts this command, until the client ends it. Everything else is said on standard error.',
      flags: {
        config: CONFIG,
        url: {
          value: 'url',
          does: 'A database in place of a file; by default the one that SVC_DATABASE_URL names, which other users of the machine cannot read in the list of processes. Capabilities are proposed as `svc-agent init` does, and nothing is written. Nobody has reviewed them.',
        },
        name: {
          value: 'name',
          does: 'The name of the caller, in logs and for `from:` parameters; by default `local`.',
        },
        capabilities: {
          value: 'a,b|"*"',
          does: 'The capabilities that the caller may call, separated by commas; by default all.',
        },
        claim: {
          value: 'name=text',
          mayRepeat: true,
          does: 'A claim of the caller, as `name=text` or `name:=json`, for capabilities that take one.',
        },
        log: {
          value: 'path',
          does: 'Append a `request` and a `call` record for each call to this file, as JSON lines. A new file has mode 0600. Several processes may share it.',
          suggest: 'file',
        },
        schema: { value: 'name', mayRepeat: true, does: 'With --url: only tables of this schema.' },
        tables: {
          value: 'glob',
          mayRepeat: true,
          does: 'With --url: only tables and views whose name, or schema and name, matches: `*` stands for any characters, `?` for one.',
        },
        exclude: { value: 'glob', mayRepeat: true, does: 'With --url: no tables and views that match.' },
        include: {
          value: 'table.column',
          mayRepeat: true,
          does: 'With --url: include this column although it looks personal or secret.',
        },
        max: { value: 'number', does: 'With --url: the most capabilities to propose; by default 40.' },
      },
    },
    serve: {
      does: 'Serve REST, MCP, OpenAPI and health as svc-gateway does, from this one process, until a signal ends it. It holds the database credential and faces callers: run svc-gateway and svc-agent for callers that you do not control. The settings are those of svc-gateway; GATEWAY_ADDR is 127.0.0.1:8080 by default.',
      flags: {
        config: CONFIG,
        'env-file': {
          value: 'path',
          does: 'Read more settings from a file of NAME=value lines; the environment itself wins.',
          suggest: 'file',
        },
        watch: {
          does: 'Reload within seconds when the capability file changes, or a file for secrets or certificates that it names. Without --watch, send SIGHUP to reload.',
        },
        'key-file': {
          value: 'path',
          does: 'Without a setting of keys: write an API key for this run to this file, which must not exist. Otherwise a terminal shows it.',
          suggest: 'file',
        },
      },
    },
  },
  notes: `Exit codes: 0 success, 1 failure at run time, 2 wrong usage or configuration.
`,
};

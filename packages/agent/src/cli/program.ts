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
    flags: { config: CONFIG },
  },
  commands: {
    check: {
      does: 'Do the same checks, print a report to standard output, and end. Does not connect to the gateway.',
      flags: {
        config: CONFIG,
        offline: {
          does: 'Ask no database. With --offline the SQL is parsed and its parameters are matched; tables, columns, types and functions are checked only with the database. Variables and files that the file names must be there.',
        },
        details: {
          does: 'Where standard output is a terminal, print below each fault what the database says of it: names of functions and columns, the line within the SQL, its advice. Elsewhere, and with --json, that stays in the log file alone.',
        },
        json: {
          does: 'Print one JSON object instead: `ok`, `file`, `offline`, `capabilities` (how many; absent where the file is not understood), `identity` (what it means; absent where the file has none), `workers` (processes that run the calls; absent where it is the agent alone), `faults` (each with `path`, `message` and, where it is known, `line` and `column`), `warnings` (what is allowed, and fails at some calls or is hardly meant, likewise), `log` (the file that says more of them, if it does) and `account` (each `problem` with its `remedy`). Nothing is printed when the check itself fails, which ends with 1.',
        },
      },
    },
    diff: {
      does: 'Say what the callers of OLD meet with NEW: what breaks them, what is risky, what none of them notices, over REST, over MCP and in clients generated before. Each is a capability file, which is read without its database, its gateway and their secrets; the URL of the `/openapi.json` of a gateway, whose API key is SVC_API_KEY or asked for on a terminal; or such a description in a file.',
      operands: [
        { name: 'old', does: 'What callers know.', suggest: 'file' },
        { name: 'new', does: 'What they are to meet.', suggest: 'file' },
      ],
      flags: {
        'fail-on': {
          value: 'severity',
          does: 'End with 3 for changes as bad as this: `breaking` (default), `risky` (these, too) or `any`.',
          suggest: ['breaking', 'risky', 'any'],
        },
        json: {
          does: 'Print one JSON object instead: `ok`, `old`, `new`, `fail_on`, how many are `breaking`, `risky` and `compatible`, `changes` (each with `severity`, `path`, `message` and, where it concerns one, `capability`), `notes` (what was not compared) and `faults` (why nothing was: each with `file`, `path`, `message` and, where it is known, `line` and `column`).',
        },
      },
    },
    init: {
      does: 'Propose capabilities for a database, and write them with all that it takes to serve them: `capability.yaml`, `reader.sql` (the account), `.env.example`, `gateway.env`, `.gitignore` and `secrets/`. Reads catalogs only, never a row. The database is that of DATABASE_URL, or of PGHOST, PGDATABASE and the like. All files are written or none; where one is there already it ends with 2.',
      flags: {
        url: {
          value: 'url',
          does: 'Where the database is, in place of DATABASE_URL. Others on the machine can read it in the list of processes.',
        },
        schema: {
          value: 'name',
          mayRepeat: true,
          does: 'Only tables of this schema. May be given several times.',
        },
        tables: {
          value: 'glob',
          mayRepeat: true,
          does: 'Only tables and views whose name, or schema and name, fits: `*` stands for any characters, `?` for one.',
        },
        exclude: { value: 'glob', mayRepeat: true, does: 'None of those that fit, likewise.' },
        include: {
          value: 'table.column',
          mayRepeat: true,
          does: 'A column that is to be given although it looks personal or secret.',
        },
        max: { value: 'number', does: 'How many capabilities to propose at most; by default 40.' },
        dir: { value: 'path', does: 'The folder to write; by default `capability`.', suggest: 'file' },
        'gateway-url': {
          value: 'url',
          does: 'Agent endpoint of the gateway; by default `ws://127.0.0.1:8080/ws/agent`.',
        },
        'create-account': {
          does: 'Show `reader.sql`, ask, run it with a password of its own, and check everything as the new account. It is all that svc-agent ever writes to a database.',
        },
        'dry-run': { does: 'Print what would be written, and write nothing.' },
        yes: { does: 'Ask nothing: every answer is yes.' },
        json: {
          does: 'Print one JSON object instead: `ok`, `dry_run`, `dir`, `files` (each with its `path`, and its `text` in a dry run), `tables` (how many), `capabilities` (names), `left_out` (each `table` with a `column` or `capability` and the `reason`), `beyond_max` (names), `account` (its `name`, and whether it was `created`) and `check` (`faults` and `findings` of the new account). Where nothing was written `ok` is false and `error` says why.',
        },
      },
    },
    schema: {
      does: 'Print the JSON Schema of the capability file, for editors.',
      flags: {},
    },
  },
  notes: `The capability file is --config, else AGENT_CAPABILITY_FILE, else capability.yaml next
to this binary. Details of faults are written to svc-agent.log, also next to it; logging.output: stdout
has the running agent write its log to standard output instead.

Exit codes: 0 fine, 1 failure at run time, 2 wrong usage or configuration,
3 the answer is no (diff).
`,
};

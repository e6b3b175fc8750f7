import type { FlagSpec, ProgramSpec } from '@svc/edge';
import { LEVELS } from '../lint/finding.ts';

const CONFIG: FlagSpec = {
  value: 'path',
  does: 'The capability file; by default the one that AGENT_CAPABILITY_FILE names, else `capability.yaml` in the folder of the `svc-agent` executable, symbolic links resolved.',
  suggest: 'file',
};

const LOG: FlagSpec = {
  value: 'path',
  does: 'Append the findings to this file as JSON lines, with what the database said: names, the line of the SQL, advice. This may contain values from the database. A new file has mode 0600. Without --log, a terminal shows what the database said below each fault, and nothing else does. If something was not shown, the object of --json has `log` (this file) or `details` (how to see it).',
  suggest: 'file',
};

/** The command line of svc-agent. */
export const PROGRAM: ProgramSpec = {
  name: 'svc-agent',
  run: {
    does: 'Run the agent: check the capability file, the database and every capability, then connect to the gateway and answer calls until SIGTERM or Ctrl-C.',
    flags: {
      config: CONFIG,
      watch: {
        does: 'Reload within seconds when the capability file changes, or a file for secrets or certificates that it names. Without --watch, send SIGHUP to reload.',
      },
    },
  },
  commands: {
    check: {
      does: 'Run the same checks as at a start, and print a report to standard output. Does not connect to the gateway.',
      flags: {
        config: CONFIG,
        offline: {
          does: 'Ask no database: parse the SQL and match its parameters. Tables, columns, types and functions are checked only with the database. The variables and files that the capability file names must exist.',
        },
        details: {
          does: 'Without effect: a terminal always shows what the database said below each fault.',
        },
        log: LOG,
        json: {
          does: 'Print one JSON object instead: `ok`, `file`, `offline`, `capabilities` (how many; absent if the file could not be understood), `identity` (its meaning; absent if the file has none), `workers` (processes that run the calls; absent if only the agent does), `databases` (their names; absent if the file has `database`), `faults` (each with `path`, `message` and, if known, `line` and `column`; `remedy` is the GRANT that the account lacks), `warnings` (what is allowed, but fails for some calls or is probably not intended; fields as in `faults`), `log` or `details` (see --log), `account` (each `problem` with its `remedy`, and `database` if it has a name), `notes` (each `note` is something else that the account may do, and no fault) and `transactions` (for each `capability` on PostgreSQL its `form`, `shared` or `own`, and for `own` the `reason`; absent with --offline, and if there is none). If the check itself fails, nothing is printed and the exit code is 1.',
        },
      },
    },
    test: {
      does: 'Check the file as at a start, make the calls of its `examples`, and report which results are not as expected. If there are any, the exit code is 3.',
      operands: [
        {
          name: 'name',
          does: 'A capability whose examples to run; by default all.',
          isOptional: true,
          mayRepeat: true,
        },
      ],
      flags: {
        config: CONFIG,
        reporter: {
          value: 'format',
          does: 'The format of the report: text (default), or junit for JUnit XML.',
          suggest: ['text', 'junit'],
        },
        log: LOG,
        json: {
          does: 'Print one JSON object instead: `ok`, `file`, `passed`, `failed`, `duration_ms`, `examples` (each with `capability`, `example` (its number), `ok`, `line`, `column`, `duration_ms`, `problems`, and `principal_verified`: false if it names its caller), `faults` (exit code 2), and `log` or `details` (see --log).',
        },
      },
    },
    lint: {
      does: 'Check the file as `check` does, and report what makes its capabilities hard to use or reveals more than intended. The exit code is 3 for findings of the level of --fail-on or above.',
      flags: {
        config: CONFIG,
        'fail-on': {
          value: 'level',
          does: 'The lowest level that fails: error (default), warn or advice.',
          suggest: LEVELS,
        },
        offline: {
          does: 'Ask no database: parse the SQL, without checking that it fits the database.',
        },
        log: LOG,
        json: {
          does: 'Print one JSON object instead: `ok`, `file`, `fail_on`, `counts` (of each level), `findings` (each with `rule`, `level`, `line`, `column`, `path`, `message`, and `capability` unless it concerns all, or `capabilities` if it concerns several), `faults` (exit code 2), and `log` or `details` (see --log).',
        },
      },
    },
    diff: {
      does: 'Report what changes for callers of OLD with NEW, over REST, over MCP and in generated clients: what breaks them, what is risky, and what none of them notices. OLD and NEW are each a capability file, which is read without its database, gateway and secrets; the URL of the `/openapi.json` of a gateway, with the API key in SVC_API_KEY or typed on a terminal; or such a description in a file.',
      operands: [
        { name: 'old', does: 'What callers use now.', suggest: 'file' },
        { name: 'new', does: 'What replaces it.', suggest: 'file' },
      ],
      flags: {
        'fail-on': {
          value: 'severity',
          does: 'Exit with code 3 for `breaking` changes (default), also for `risky` ones, or for `any`.',
          suggest: ['breaking', 'risky', 'any'],
        },
        json: {
          does: 'Print one JSON object instead: `ok`, `old`, `new`, `fail_on`, how many are `breaking`, `risky` and `compatible`, `changes` (each with `severity`, `path`, `message` and, if it concerns one, `capability`), `notes` (what was not compared) and `faults` (why nothing was compared: each with `file`, `path`, `message` and, if known, `line` and `column`).',
        },
      },
    },
    init: {
      does: 'Propose capabilities for a database, and write all files to serve them: `capability.yaml`, `reader.sql` (the account), `.env.example`, `gateway.env`, `.gitignore` and `secrets/`. Reads catalogs only, never a row. DATABASE_URL names the database and begins with `postgres:`, `mysql:`, `mariadb:`, `sqlite:` or `duckdb:`; without it PGHOST, PGDATABASE and the like do. Either all files are written or none; if one exists already, the exit code is 2.',
      flags: {
        url: {
          value: 'url',
          does: 'The database, in place of DATABASE_URL. Other users of the machine can read it in the list of processes.',
        },
        schema: {
          value: 'name',
          mayRepeat: true,
          does: 'Only tables of this schema.',
        },
        tables: {
          value: 'glob',
          mayRepeat: true,
          does: 'Only tables and views whose name, or schema and name, matches: `*` stands for any characters, `?` for one.',
        },
        exclude: { value: 'glob', mayRepeat: true, does: 'No tables and views that match.' },
        include: {
          value: 'table.column',
          mayRepeat: true,
          does: 'Include this column although it looks personal or secret.',
        },
        max: { value: 'number', does: 'The most capabilities to propose; by default 40.' },
        dir: { value: 'path', does: 'The folder to write; by default `capability`.', suggest: 'file' },
        'gateway-url': {
          value: 'url',
          does: 'Agent endpoint of the gateway; by default `ws://127.0.0.1:8080/ws/agent`.',
        },
        'create-account': {
          does: 'Show `reader.sql`, ask, run it with a new password, and check everything as the new account. svc-agent never writes anything else to a database.',
        },
        'dry-run': { does: 'Print what would be written, and write nothing.' },
        yes: { does: 'Ask no questions: every answer is yes.' },
        log: LOG,
        json: {
          does: 'Print one JSON object instead: `ok`, `dry_run`, `dir`, `files` (each with its `path`, and its `text` in a dry run), `tables` (how many), `capabilities` (names), `left_out` (each `table` with a `column` or `capability` and the `reason`), `beyond_max` (names), `account` (its `name`, and whether it was `created`) and `check` (`faults` and `findings` of the new account, and `log` or `details`, see --log). If nothing was written, `ok` is false, and there are `error` (the reason) and `log` or `details`.',
        },
      },
    },
    add: {
      does: 'Add a capability to the file. The database tells the types of its parameters and the fields of its rows from a SELECT, without running it. The whole file is checked before it is written; other comments and layout stay as they are.',
      operands: [{ name: 'name', does: 'The name of the new capability.' }],
      flags: {
        config: CONFIG,
        'sql-file': {
          value: 'path',
          isRequired: true,
          does: 'The file with the SELECT, with parameters as `:name` and, if wanted, `{filters}`; `-` is standard input.',
          suggest: 'file',
        },
        database: {
          value: 'name',
          does: 'Which of `databases` the capability asks; required if there are several and `defaults` names none.',
        },
        print: { does: 'Print what would be added, without changing the file.' },
        log: LOG,
        json: {
          does: 'Print one JSON object instead: `ok`, `file`, `capability`, `written`, `section` (the new YAML), `warnings`, `faults` (exit code 2), each with `path`, `message` and, if known, `line` and `column` of the file as it would be, and `log` or `details` (see --log).',
        },
      },
    },
    try: {
      does: 'Call a capability of the file without a gateway. The call runs as in the agent: with the same parameters, limits, read-only transaction and rows. Only this capability is checked first. The exit code is 0 for rows, and 1 if the call fails.',
      operands: [{ name: 'name', does: 'The capability.' }],
      flags: {
        config: CONFIG,
        param: {
          short: 'p',
          value: 'name=value',
          mayRepeat: true,
          does: 'A parameter, read by its type. For a list, give JSON, or one --param for each item.',
        },
        params: {
          value: 'json',
          does: 'All parameters as a JSON object, or as `@FILE` that contains one (`@-`: standard input).',
        },
        as: {
          value: 'key',
          does: 'The name of the API key of the caller. Nothing about the caller is verified, neither this flag nor the next three.',
        },
        claim: {
          value: 'name=value',
          mayRepeat: true,
          does: 'A claim of the caller, by its name in the capability file.',
        },
        subject: { value: 'sub', does: "The subject of the caller's token." },
        issuer: { value: 'iss', does: 'The issuer of that token.' },
        sql: {
          does: 'Print the statement that the call would run, and run nothing.',
        },
        explain: {
          does: 'Run the query with EXPLAIN (ANALYZE) instead, in the same kind of transaction, and report what makes it slow: scans that filter more than 10,000 rows, estimates wrong by a factor of 100, sorts and hashes that spill to disk. Only a terminal shows the plan, which names tables and indexes.',
        },
        log: LOG,
        json: {
          does: 'Print one JSON object instead: `ok`, `capability`, `principal` (the caller, with `verified: false`; absent without a flag for it), `duration_ms`, and for rows `count`, `truncated`, `next` (of a list that `paging: FIELD` cut), `bytes`, `tokens` (bytes / 4) and `rows`, or with --explain `findings` and `plan`; otherwise `error` (`code`, `message`) or `faults` (exit code 2; each with `path`, `message` and, if known, `line` and `column`), and `log` or `details` (see --log).',
        },
      },
    },
    dev: {
      does: 'Serve the capability file on this machine only, and each save of it, until Ctrl-C. Starts the `svc-gateway` beside this executable on 127.0.0.1, with an API key and a key pair for this run, which replace the gateway settings of the file: the file needs no key and no secrets for the link. Prints the URL, the key, an example call, and the address of a console that shows the file with its faults, SQL and plans. Each save is checked and served; while it has faults, the last good one is still served. If the file has faults at the start, the exit code is 2.',
      flags: {
        config: CONFIG,
        port: {
          value: 'number',
          does: 'The first port to try; the next free one is used. By default 8080; 0 for any port.',
        },
        claim: {
          value: 'name=text',
          mayRepeat: true,
          does: 'A claim of the API key, as `name=text` or `name:=json`, for capabilities that take one; see `svc-gateway create-key`.',
        },
        'no-gateway': { does: 'Only check each save and show it in the console, without serving it.' },
        quiet: { does: 'Do not show the calls.' },
        log: {
          value: 'path',
          does: 'Append the log to this file instead of `svc-agent.log` beside this executable. A new file has mode 0600. What the database said may contain values.',
          suggest: 'file',
        },
        json: {
          does: 'Print one JSON object a line instead, each with `event` and `time`: `ready` (`url`, `api_key`, `console_url`, `openapi_url`, `mcp_url`, `mcp`, `file`, how many `capabilities` and, for one of them, `capability`, `params` and `curl`), or `watching` without a gateway (`file`, `capabilities`, `console_url`); `served` or, without a gateway, `checked` (`capabilities`; `checked`: how many the database was asked about; `duration_ms`; for `served` the names that were `added`, `changed` and `removed`); `refused` (`faults` as in `check`, `serves_on`); `call` (`request_id`, `name`, `status`, `duration_ms`, and if there are any `error_code`, `rows`, `bytes`); `note` (`message`).',
        },
      },
    },
    schema: {
      does: 'Print the JSON Schema of the capability file, for editors.',
      flags: {},
    },
  },
  notes: `The capability file is the one of --config, else of AGENT_CAPABILITY_FILE, else
capability.yaml beside this executable. The running agent and dev write details of faults to
svc-agent.log, also beside it; with logging.output: stdout the running agent writes its log to
standard output. Other commands show details on a terminal, or append them to the file of --log.

Exit codes: 0 success, 1 failure at run time, 2 wrong usage or configuration,
3 the answer is no (test, lint, diff).
`,
};

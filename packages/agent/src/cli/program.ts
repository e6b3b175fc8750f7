import type { FlagSpec, ProgramSpec } from '@svc/edge';
import { LEVELS } from '../lint/finding.ts';

const CONFIG: FlagSpec = {
  value: 'path',
  does: 'The capability file. Else AGENT_CAPABILITY_FILE, else `capability.yaml` in the folder of the real file of `svc-agent`.',
  suggest: 'file',
};

const LOG: FlagSpec = {
  value: 'path',
  does: 'Append to this file, as JSON lines, what was found with the words of the database: names, the line within the SQL, advice. They may hold values of the database. A new file has mode 0600. Without --log the words stand below each fault if standard output is a terminal, and nowhere else. If there are any that are not shown, the object of --json has `log` (this file) or `details` (how to see them).',
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
        details: {
          does: 'What a terminal is shown without this flag too: below each fault what the database says of it.',
        },
        log: LOG,
        json: {
          does: 'Print one JSON object instead: `ok`, `file`, `offline`, `capabilities` (how many; absent where the file is not understood), `identity` (what it means; absent where the file has none), `workers` (processes that run the calls; absent where it is the agent alone), `databases` (their names; absent where the file has `database`), `faults` (each with `path`, `message` and, where it is known, `line` and `column`; `remedy` is the GRANT that the account lacks), `warnings` (what is allowed, and fails at some calls or is hardly meant, likewise), `log` or `details` (as --log says), `account` (each `problem` with its `remedy`, and the `database` where it has a name) and `notes` (each `note` of what else the account may do, which is no fault, likewise). Nothing is printed when the check itself fails, which ends with 1.',
        },
      },
    },
    test: {
      does: 'Check the file as at a start, then make the calls of its `examples`, and say which of them do not give what is expected: those end with 3.',
      operands: [
        {
          name: 'name',
          does: 'A capability whose examples are to be run; when absent all.',
          isOptional: true,
          mayRepeat: true,
        },
      ],
      flags: {
        config: CONFIG,
        reporter: {
          value: 'format',
          does: 'How to report: text, or junit for JUnit XML. By default text.',
          suggest: ['text', 'junit'],
        },
        log: LOG,
        json: {
          does: 'Print one JSON object instead: `ok`, `file`, `passed`, `failed`, `duration_ms`, `examples` (each with `capability`, `example` (its number), `ok`, `line`, `column`, `duration_ms`, `problems`, and `principal_verified`: false where it says who calls), `faults` (which end with 2), and `log` or `details` (as --log says).',
        },
      },
    },
    lint: {
      does: 'Check the file as `check` does, and say what makes its capabilities hard to use or gives away more than is meant. What is found ends with 3 where it is as bad as --fail-on says.',
      flags: {
        config: CONFIG,
        'fail-on': {
          value: 'level',
          does: 'The least level that counts: error, warn or advice. By default error.',
          suggest: LEVELS,
        },
        offline: {
          does: 'Ask no database: the SQL is parsed, and whether it fits the database is not checked.',
        },
        log: LOG,
        json: {
          does: 'Print one JSON object instead: `ok`, `file`, `fail_on`, `counts` (of each level), `findings` (each with `rule`, `level`, `line`, `column`, `path`, `message`, and `capability` unless all are meant, or `capabilities` where many are), `faults` (which end with 2), and `log` or `details` (as --log says).',
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
      does: 'Propose capabilities for a database, and write them with all that it takes to serve them: `capability.yaml`, `reader.sql` (the account), `.env.example`, `gateway.env`, `.gitignore` and `secrets/`. Reads catalogs only, never a row. The database is that of DATABASE_URL, which begins with `postgres:`, `mysql:`, `mariadb:`, `sqlite:` or `duckdb:`, or of PGHOST, PGDATABASE and the like. All files are written or none; where one is there already it ends with 2.',
      flags: {
        url: {
          value: 'url',
          does: 'Where the database is, in place of DATABASE_URL. Others on the machine can read it in the list of processes.',
        },
        schema: {
          value: 'name',
          mayRepeat: true,
          does: 'Only tables of this schema.',
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
        log: LOG,
        json: {
          does: 'Print one JSON object instead: `ok`, `dry_run`, `dir`, `files` (each with its `path`, and its `text` in a dry run), `tables` (how many), `capabilities` (names), `left_out` (each `table` with a `column` or `capability` and the `reason`), `beyond_max` (names), `account` (its `name`, and whether it was `created`) and `check` (`faults` and `findings` of the new account, and `log` or `details` as --log says). If nothing was written, `ok` is false, `error` says why, and `log` or `details` stands beside it.',
        },
      },
    },
    add: {
      does: 'Add a capability to the file: the types of its parameters and the fields of its rows are those that the database finds in a SELECT, which does not run. The whole file is checked with it before it is written; comments and layout of the others stay.',
      operands: [{ name: 'name', does: 'Of the new capability.' }],
      flags: {
        config: CONFIG,
        'sql-file': {
          value: 'path',
          isRequired: true,
          does: 'The file with the SELECT, its parameters written as `:name`; `-` is standard input.',
          suggest: 'file',
        },
        database: {
          value: 'name',
          does: 'The one of `databases` that it asks; needed where there are several and `defaults` names none.',
        },
        print: { does: 'Print what would be added, and leave the file as it is.' },
        log: LOG,
        json: {
          does: 'Print one JSON object instead: `ok`, `file`, `capability`, `written`, `section` (the YAML that is new), `warnings` and `faults` (each with `path`, `message` and, where it is known, `line` and `column`, of the file as it would be), which end with 2, and `log` or `details` (as --log says).',
        },
      },
    },
    try: {
      does: 'Call a capability of the file without a gateway, as the agent runs calls: the same parameters, limits, read-only transaction and rows. Only this capability is checked first. Ends with 0 for rows and with 1 when the call fails.',
      operands: [{ name: 'name', does: 'Of the capability.' }],
      flags: {
        config: CONFIG,
        param: {
          short: 'p',
          value: 'name=value',
          mayRepeat: true,
          does: 'A parameter, read by its type. For a list give JSON, or each item by a --param of its own.',
        },
        params: {
          value: 'json',
          does: 'All parameters instead, as a JSON object, or as `@FILE` that holds one (`@-`: standard input).',
        },
        as: {
          value: 'key',
          does: 'The name of the API key that calls. Who calls is not verified, neither by this flag nor by the next three.',
        },
        claim: {
          value: 'name=value',
          mayRepeat: true,
          does: 'A claim of who calls, by its name in the capability file.',
        },
        subject: { value: 'sub', does: 'The subject of the token that calls.' },
        issuer: { value: 'iss', does: 'The issuer of that token.' },
        explain: {
          does: 'Run the query with EXPLAIN (ANALYZE) instead, in the same kind of transaction, and say what makes it slow: scans that filter more than 10,000 rows, estimates 100-fold off, sorts and hashes that spill to disk. The plan, with the names of tables and indexes, stands on a terminal alone.',
        },
        log: LOG,
        json: {
          does: 'Print one JSON object instead: `ok`, `capability`, `principal` (who calls, `verified: false`; absent where no flag says), `duration_ms`, and for rows `count`, `truncated`, `bytes`, `tokens` (bytes / 4) and `rows`, with --explain `findings` and `plan`, else `error` (`code`, `message`) or `faults` (each with `path`, `message` and, where it is known, `line` and `column`), which end with 2, each with `log` or `details` (as --log says).',
        },
      },
    },
    dev: {
      does: 'Serve the capability file on this machine alone, and each save of it, until Ctrl-C. Starts the `svc-gateway` that stands beside this executable on 127.0.0.1, with an API key and a key pair made for this run, which take the place of what the file says of its gateway; of the link the file needs no key and no secrets. Prints the URL, the key, the address of a console that also shows the file with its faults, SQL and plans, and how to call. Each save is checked and served; while it has faults, what was there before is served on. A file with faults at the start ends with 2.',
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
        'no-gateway': { does: 'Serve nothing: check each save, and show it in the console.' },
        quiet: { does: 'Do not show the calls.' },
        log: {
          value: 'path',
          does: 'Append the log to this file, which has mode 0600 if it is new, instead of `svc-agent.log` beside this executable. The words of the database in it may hold values.',
          suggest: 'file',
        },
        json: {
          does: 'Print one JSON object a line instead, each with `event` and `time`: `ready` (`url`, `api_key`, `console_url`, `openapi_url`, `mcp_url`, `mcp`, `file`, how many `capabilities` and, for one of them, `capability`, `params` and `curl`), or `watching` without a gateway (`file`, `capabilities`, `console_url`); `served` or, without a gateway, `checked` (`capabilities`, how many the database was asked about as `checked`, `duration_ms`; of `served` the names that were `added`, `changed` and `removed`); `refused` (`faults` as in `check`, `serves_on`); `call` (`request_id`, `name`, `status`, `duration_ms`, and where there are some `error_code`, `rows`, `bytes`); `note` (`message`).',
        },
      },
    },
    schema: {
      does: 'Print the JSON Schema of the capability file, for editors.',
      flags: {},
    },
  },
  notes: `The capability file is --config, else AGENT_CAPABILITY_FILE, else capability.yaml next
to this binary. The running agent, and dev, write details of faults to svc-agent.log, also next to it;
logging.output: stdout has the running agent write its log to standard output instead. The other
commands show them on a terminal, or write them to the file of --log.

Exit codes: 0 fine, 1 failure at run time, 2 wrong usage or configuration,
3 the answer is no (test, lint, diff).
`,
};

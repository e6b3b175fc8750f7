import { expect, test } from 'vitest';
import { parseArguments } from './arguments.ts';

test.each([
  ['', { kind: 'run' }],
  ['--config a.yaml', { kind: 'run', config: 'a.yaml' }],
  ['--config=a.yaml', { kind: 'run', config: 'a.yaml' }],
  ['check', { kind: 'check', offline: false, json: false }],
  ['check --config a.yaml --offline', { kind: 'check', config: 'a.yaml', offline: true, json: false }],
  ['--offline check --json', { kind: 'check', offline: true, json: true }],
  ['schema', { kind: 'schema' }],
  ['--help', { kind: 'help' }],
  ['-h', { kind: 'help' }],
  ['check --help', { kind: 'help' }],
  ['--version', { kind: 'version' }],
  ['-v', { kind: 'version' }],
])('%j', (line, command) => {
  expect(parseArguments(line.split(' ').filter((word) => word !== ''))).toEqual(command);
});

test.each([
  ['chek', 'unknown command "chek": did you mean `check`?'],
  ['run', 'unknown command "run": see `svc-agent --help`'],
  ['a.yaml', 'unknown command "a.yaml": see `svc-agent --help`'],
  ['--confg a.yaml', 'unknown flag "--confg": did you mean `--config`?'],
  ['check --ofline', 'unknown flag "--ofline": did you mean `--offline`?'],
  ['-x', 'unknown flag "-x": see `svc-agent --help`'],
  ['--config', '`--config` needs the path of a capability file'],
  ['--config=', '`--config` needs the path of a capability file'],
  ['--config a --config b', '`--config` is given twice'],
  ['--offline', 'running the agent takes no `--offline`'],
  ['schema --config a', '`schema` takes no `--config`'],
  ['schema --json', '`schema` takes no `--json`'],
  ['check --offline=yes', '`--offline` takes no value'],
  ['check more', 'unexpected argument "more": name the capability file with `--config`'],
])('%j is wrong usage', (line, message) => {
  expect(parseArguments(line.split(' '))).toEqual({ kind: 'usage_error', message });
});

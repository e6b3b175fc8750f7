import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runProcess } from '@svc/testkit';
import { ROOT } from '../documentation/documents.ts';
import type { Pairs } from './pairs.testing.ts';

const PACKAGES = join(ROOT, '.cache/client-tools/openapi-python-client');
// Its formatter takes longer than all else.
const CONFIG = { use_path_prefixes_for_title_model_names: false, post_hooks: [] };

export const hasPython: boolean = existsSync(`${PACKAGES}.version`);

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Makes a package `target` of the description in `document`. */
export async function generatePython(document: string, target: string): Promise<void> {
  await mkdir(target);
  await writeFile(`${target}.json`, JSON.stringify(CONFIG));
  const args = ['generate', '--meta', 'none', '--overwrite', '--fail-on-warning', '--path', document];
  const { code, stdout, stderr } = await runProcess(
    'python3',
    ['-m', 'openapi_python_client', ...args, '--output-path', target, '--config', `${target}.json`],
    { env: { PYTHONPATH: PACKAGES } },
  );
  if (code !== 0) throw new Error(`${stdout}${stderr}`);
}

/** Runs a program, which finds the packages beside it. */
export async function runPython(file: string, env: Readonly<Record<string, string>>): Promise<Ran> {
  const PYTHONPATH = `${dirname(file)}:${PACKAGES}`;
  const { code, stdout, stderr } = await runProcess('python3', [file], { env: { ...env, PYTHONPATH } });
  return { code, stdout, stderr };
}

/** A program that calls each capability by a client that was generated before, and checks that it has read the rows. */
export function callsSource({ compatible }: Pairs): string {
  const calls = [...compatible].flatMap(([name, bodies]) =>
    bodies.map((body) => `    (${JSON.stringify(name)}, ${JSON.stringify(JSON.stringify(body))}),`),
  );
  return `
import importlib, json, os, sys, typing
from client import AuthenticatedClient

CALLS = [
${calls.join('\n')}
]
gateway = AuthenticatedClient(base_url=os.environ["GATEWAY"], token=os.environ["KEY"])
failures = 0
for name, text in CALLS:
    call = importlib.import_module("client.api.capabilities." + name)
    params = typing.get_type_hints(call.sync_detailed)["body"]
    try:
        response = call.sync_detailed(client=gateway, body=params.from_dict(json.loads(text)))
        read = response.parsed.to_dict()
        if response.status_code != 200 or len(read["rows"]) != 2:
            raise ValueError(response.content)
    except Exception as error:
        failures += 1
        print(name, text, repr(error))
print(len(CALLS), "calls")
sys.exit(1 if failures else 0)
`;
}

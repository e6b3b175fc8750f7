import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { temporaryFolder, type TemporaryFolder } from '@svc/testkit';
import { describeCapabilities } from '../../packages/agent/src/capabilities/openapi/describe-capabilities.ts';
import { loadOffer } from '../../packages/agent/src/config/load.ts';
import { readDocument } from '../documentation/documents.ts';
import { compileSources, generateTypes } from '../requirements/openapi-client.testing.ts';
import { generatePython, hasPython, runPython } from './python.testing.ts';

/** The programs of the guide are of clients for the file of the guide that it names. */
const blocks = ['docs/guides/first-capability-file.md', 'docs/guides/generated-clients.md'].flatMap(
  (path) => readDocument(path).blocks,
);

function textOf(language: string, mark: string): string {
  const block = blocks.find((each) => each.language === language && each.mark === mark);
  if (block === undefined) throw new Error(`no ${language} ${mark} in the guides`);
  return block.text;
}

let folder: TemporaryFolder;
let description: string;
beforeAll(async () => {
  folder = await temporaryFolder('guide');
  const content = Buffer.from(textOf('yaml', 'complete'));
  const loaded = loadOffer({ path: 'capability.yaml', env: {}, readFile: () => content });
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults));
  const { service, capabilities } = loaded.offer;
  description = JSON.stringify(describeCapabilities({ service, capabilities }).openapi);
});
afterAll(() => folder.remove());

test('the TypeScript of the guide compiles', async () => {
  await generateTypes(folder.path, description, { emptyObjectsUnknown: true, defaultNonNullable: false });
  const node = 'declare const process: { env: Record<string, string | undefined> };\n';
  const sources = { 'guide.ts': node + textOf('ts', 'client') };
  expect(await compileSources(folder.path, sources)).toEqual([]);
});

test.skipIf(!hasPython)('the Python of the guide gets as far as the gateway', async () => {
  const [document, program] = [join(folder.path, 'openapi.json'), join(folder.path, 'guide.py')];
  await writeFile(document, description);
  await generatePython(document, join(folder.path, 'shop'));
  // A port where nobody listens.
  await writeFile(
    program,
    textOf('python', 'client').replace('https://gateway.example.com', 'http://127.0.0.1:9'),
  );
  const { stderr } = await runPython(program, { SVC_API_KEY: 'key' });
  expect(stderr).toContain('httpx.ConnectError');
});

// Writes what is made from the code: parts of docs/reference, and the dashboards. `npm test` fails when it is out of date.
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

process.env.TSX_DISABLE_CACHE = '1';
const { tsImport } = await import('tsx/esm/api');
const { PARTS } = await tsImport('./docs/parts.ts', import.meta.url);
const { replacePart } = await tsImport('./docs/markdown.ts', import.meta.url);
const { DASHBOARDS } = await tsImport('./dashboards/dashboards.ts', import.meta.url);

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
for (const [document, parts] of Object.entries(PARTS)) {
  const file = join(root, document);
  let text = await readFile(file, 'utf8');
  for (const [name, render] of Object.entries(parts)) text = replacePart(text, name, render());
  await writeFile(file, text);
}
for (const [file, text] of Object.entries(DASHBOARDS)) await writeFile(join(root, file), text);

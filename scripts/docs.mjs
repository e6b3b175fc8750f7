// Writes the parts of docs/reference that are made from the code. `npm test` fails when they are out of date.
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

process.env.TSX_DISABLE_CACHE = '1';
const { tsImport } = await import('tsx/esm/api');
const { PARTS } = await tsImport('./docs/parts.ts', import.meta.url);
const { replacePart } = await tsImport('./docs/markdown.ts', import.meta.url);

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
for (const [document, parts] of Object.entries(PARTS)) {
  const file = join(root, document);
  let text = await readFile(file, 'utf8');
  for (const [name, render] of Object.entries(parts)) text = replacePart(text, name, render());
  await writeFile(file, text);
}

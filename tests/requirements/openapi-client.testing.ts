import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import openapiTS, { astToString, type OpenAPITSOptions } from 'openapi-typescript';
import ts from 'typescript';

const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url));

/** Generates the types of a description into `folder`, as `schema.d.ts`, and lets sources there find packages. */
export async function generateTypes(
  folder: string,
  openapi: string,
  options: OpenAPITSOptions = {},
): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  await symlink(MODULES, join(folder, 'node_modules'));
  await writeFile(join(folder, 'schema.d.ts'), astToString(await openapiTS(openapi, options)));
}

/**
 * Compiles sources in `folder` as a careful user would, JavaScript beside them. Returns the faults as
 * `file:line: message`.
 */
export async function compileSources(
  folder: string,
  sources: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const files = Object.entries(sources).map(([name, text]) => ({ path: join(folder, name), text }));
  for (const { path, text } of files) await writeFile(path, text);
  const program = ts.createProgram({
    rootNames: files.map(({ path }) => path),
    options: {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'],
      types: [],
      strict: true,
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: true,
    },
  });
  const { diagnostics } = program.emit();
  return [...ts.getPreEmitDiagnostics(program), ...diagnostics].map(({ file, start, messageText }) => {
    const text = ts.flattenDiagnosticMessageText(messageText, ' ');
    if (file === undefined || start === undefined) return text;
    const { line } = file.getLineAndCharacterOfPosition(start);
    return `${file.fileName.slice(folder.length + 1)}:${line + 1}: ${text}`;
  });
}

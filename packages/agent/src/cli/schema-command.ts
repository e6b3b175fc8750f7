import { editorSchema } from '../config/schema/editor-schema.ts';

/** `svc-agent schema`: prints the JSON Schema of the capability file. */
export function schemaCommand(output: { write(text: string): unknown }): void {
  output.write(`${JSON.stringify(editorSchema(), undefined, 2)}\n`);
}

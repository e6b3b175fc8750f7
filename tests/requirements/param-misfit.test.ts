import { writeFile } from 'node:fs/promises';
import { runProcess, SVC_AGENT, temporaryFolder } from '@svc/testkit';
import { expect, test } from 'vitest';

const CONSTRAINTS: Readonly<Record<string, { readonly value: string; readonly types: readonly string[] }>> = {
  minimum: { value: '1', types: ['integer', 'number'] },
  maximum: { value: '1', types: ['integer', 'number'] },
  exclusiveMinimum: { value: '1', types: ['integer', 'number'] },
  exclusiveMaximum: { value: '1', types: ['integer', 'number'] },
  multipleOf: { value: '1', types: ['integer', 'number'] },
  minLength: { value: '1', types: ['string'] },
  maxLength: { value: '1', types: ['string'] },
  pattern: { value: 'a', types: ['string'] },
  format: { value: 'email', types: ['string'] },
  minItems: { value: '1', types: ['array'] },
  maxItems: { value: '1', types: ['array'] },
  enum: {
    value: '[1]',
    types: ['integer', 'number', 'string', 'boolean', 'date', 'datetime', 'uuid'],
  },
};
const TYPES = ['integer', 'number', 'string', 'boolean', 'date', 'datetime', 'uuid', 'array', 'object'];

test(
  'a constraint that does not fit its type is a fault, and no other is',
  { tags: ['capability:params.misfit', ...Object.keys(CONSTRAINTS).map((name) => `param:${name}`)] },
  async () => {
    const pairs = Object.entries(CONSTRAINTS).flatMap(([name, { value, types }]) =>
      TYPES.map((type) => ({ name, value, type, fits: types.includes(type) })),
    );
    const params = pairs.map(({ name, value, type }, index) => {
      const items = type === 'array' ? ', items: { type: integer }' : '';
      return `      p${index}: { type: ${type}${items}, ${name}: ${value} }`;
    });
    const folder = await temporaryFolder('misfit');
    const file = [
      'capabilities:',
      '  c:',
      '    sql: select 1 as a',
      '    params:',
      ...params,
      '    result: {}',
    ];
    const { code, stdout } = await checkFile(folder.path, file.join('\n'));
    await folder.remove();
    const misfits = [...stdout.matchAll(/params\.p(\d+)\.\w+: does not fit the type (\w+); accepted: /g)];
    const expected = pairs.flatMap(({ type, fits }, index) => (fits ? [] : [[String(index), type]]));
    expect(misfits.map(([, index, type]) => [index, type])).toEqual(expected);
    expect(code).toBe(2);
  },
);

async function checkFile(folder: string, yaml: string): Promise<{ code: number | null; stdout: string }> {
  const path = `${folder}/capability.yaml`;
  await writeFile(path, yaml);
  return await runProcess(SVC_AGENT, ['check', '--offline', '--config', path]);
}

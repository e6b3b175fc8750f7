import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<
    Record<
      string,
      {
        readonly 'timeout-minutes': number;
        readonly strategy: { readonly matrix: { readonly node: readonly string[] } };
        readonly steps: readonly { readonly uses?: string; readonly run?: string }[];
      }
    >
  >;
}

function read(path: string): string {
  return readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');
}

test('the public CI runs what must hold on the oldest Node.js and on each even one since', () => {
  const { permissions, jobs }: Workflow = parse(read('.github/workflows/ci.yml'));
  const { engines } = JSON.parse(read('package.json'));
  expect(permissions).toEqual({ contents: 'read' });
  expect(Object.keys(jobs)).toEqual(['check']);
  const { check } = jobs;
  expect(check?.strategy.matrix.node).toEqual([engines.node.replace('>=', ''), '22', '24', '26']);
  expect(check?.['timeout-minutes']).toBeLessThanOrEqual(60);
  const used = check?.steps.flatMap(({ uses }) => uses ?? []);
  expect(used).toEqual([
    expect.stringMatching(/^actions\/checkout@v\d+$/),
    expect.stringMatching(/^actions\/setup-node@v\d+$/),
  ]);
  expect(check?.steps.at(-1)?.run).toBe('.ci/run');
  for (const page of ['SECURITY.md', 'README.md', 'docs/guides/deploy.md']) {
    expect(read(page)).toContain(`Node.js ${engines.node.replace('>=', '')} or newer`);
  }
});

test('each issue form has the parts that GitHub asks for, and one sends security problems elsewhere', () => {
  const forms = readdirSync(new URL('../.github/ISSUE_TEMPLATE', import.meta.url)).filter(
    (name) => name !== 'config.yml',
  );
  expect(forms).toEqual(['bug.yml', 'feature.yml']);
  for (const name of forms) {
    const form = parse(read(`.github/ISSUE_TEMPLATE/${name}`));
    expect(form).toMatchObject({ name: expect.any(String), description: expect.any(String) });
    for (const part of form.body) {
      expect(part.type).toMatch(/^(?:markdown|textarea)$/);
      expect(part.attributes).toHaveProperty(part.type === 'markdown' ? 'value' : 'label');
    }
  }
  expect(read('.github/ISSUE_TEMPLATE/bug.yml')).toContain('SECURITY.md');
});

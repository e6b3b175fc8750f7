import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { capabilityOf } from '../../databases/conformance/capability.testing.ts';
import type { PassedSave } from '../check-save.ts';
import { createAuthorState } from './author-state.ts';

function saveOf(name: string): PassedSave {
  const config = { capabilities: [{ name, position: { line: 1, column: 1 } }] };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what is read of a save
  return { content: undefined, asked: 1, warnings: [], verified: { config, prepared: [] } } as never;
}

test('findings of a file that was saved meanwhile are not shown beside the new one', async () => {
  const answers: (() => void)[] = [];
  const state = createAuthorState({
    file: 'capability.yaml',
    url: undefined,
    first: saveOf('old'),
    inspect: (order) =>
      new Promise((resolve) => {
        if (order.inspect !== 'lint') throw new Error('no plan is asked for');
        const finding = { capability: '', rule: 'order-missing', level: 'warn', path: '' } as const;
        const message = `about ${order.capabilities[0]?.name}`;
        answers.push(() => resolve({ lint: [{ ...finding, message }] }));
        if (answers.length > 1) answers.at(-1)?.();
      }),
  });
  const asked = state.file();
  // The order is on its way then; an answer waits for its findings for half a second only.
  await setImmediate();
  expect(answers).toHaveLength(1);
  state.passed(saveOf('new'));
  answers[0]?.();
  expect(JSON.parse(await asked)).toMatchObject({
    capabilities: [{ name: 'new' }],
    lint: [{ message: 'about new' }],
  });
});

test('examples with integers beyond 2^53 are shown with all digits', async () => {
  const examples = [
    {
      params: { id: 9007199254740993n, name: 'x' },
      expect: { rows: [{ ids: [18446744073709551615n, 7] }] },
      isPublished: true,
      position: { line: 9, column: 1 },
    },
  ];
  const save = saveOf('other');
  const config = { ...save.verified.config, capabilities: [{ ...capabilityOf('select 1 as a'), examples }] };
  const state = createAuthorState({
    file: 'capability.yaml',
    url: undefined,
    first: { ...save, verified: { ...save.verified, config } },
    inspect: () => Promise.reject(new Error('nothing is asked for')),
  });
  expect(JSON.parse((await state.capability('sample')) ?? '')).toMatchObject({
    examples: [
      {
        line: 9,
        params: { id: '9007199254740993', name: 'x' },
        expect: { rows: [{ ids: ['18446744073709551615', 7] }] },
      },
    ],
  });
});

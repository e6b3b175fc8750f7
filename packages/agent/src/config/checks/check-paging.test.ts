import { describe, expect, test } from 'vitest';
import { faultLines, fileText, load } from '../load.fixture.ts';

function fileWith(paging: string): string {
  return fileText({
    identity: 'identity: { trust: gateway }',
    capabilities: `capabilities:
  list:
    sql: SELECT 1
    params:
      after: { type: integer }
      since: { type: datetime }
      key: { type: uuid }
      who: { type: string, from: principal.subject }
    result:
      id: { type: integer }
      placed: { type: datetime }
      uuid: { type: string }
    paging: ${paging}`,
  });
}

describe('paging', { tags: ['capability:paging'] }, () => {
  test.each([
    ['{ after: id }', { after: 'id' }],
    ['{ since: placed, after: id }', { since: 'placed', after: 'id' }],
    ['{ key: uuid }', { key: 'uuid' }],
  ])('takes %s', (paging, expected) => {
    const loaded = load(fileWith(paging));
    expect(faultLines(loaded)).toEqual([]);
    expect(loaded).toHaveProperty('config.capabilities.0.paging', expected);
  });

  test.each([
    [
      '{ afer: id }',
      '16:15 capabilities.list.paging.afer: is no parameter of the capability, did you mean `after`?',
    ],
    [
      '{ who: uuid }',
      '16:15 capabilities.list.paging.who: takes its value from who calls, so callers cannot send it',
    ],
    [
      '{ after: ids }',
      '16:22 capabilities.list.paging.after: must be a field of `result`, did you mean `id`?',
    ],
    [
      '{ after: placed }',
      '16:22 capabilities.list.paging.after: must be a field of the type of the parameter: the field is datetime, the parameter integer',
    ],
    [
      '{ key: id }',
      '16:20 capabilities.list.paging.key: must be a field of the type of the parameter: the field is integer, the parameter uuid',
    ],
    ['{ after: 1 }', '16:22 capabilities.list.paging.after: must be text: put it in quotes'],
    ['{}', '16:5 capabilities.list.paging: must have at least 1 entry'],
    ['5', expect.stringMatching(/^16:13 capabilities.list.paging: /)],
  ])('refuses %s', (paging, fault) => {
    expect(faultLines(load(fileWith(paging)))).toEqual([fault]);
  });

  test('is absent where the file has none', () => {
    expect(load(fileText())).not.toHaveProperty('config.capabilities.0.paging');
  });
});

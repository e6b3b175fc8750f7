import {
  COST_AS_CREATED,
  startPostgres,
  startService,
  temporaryFolder,
  type Releasers,
  type Service,
} from '@svc/testkit';

export const ITEM = 7;
/** What `get_item` answers for ITEM. */
export const ITEM_ANSWER: string = `{"rows":[{"id":${ITEM}}],"count":1}`;
const SQL =
  "create table item (id int primary key, label text); insert into item select i, 'x' from generate_series(1, 1000) i";
const CAPABILITIES = `
capabilities:
  get_item:
    description: One item
    sql: select id from item where id = :id
    params: { id: { type: integer, required: true } }
    result: { id: { type: integer } }
  large:
    description: A megabyte
    sql: select id, repeat('x', 4000) as label from item order by id limit 250
    policy: { max_bytes: 2MB }
    result: { id: { type: integer }, label: { type: string } }
`;

/** A gateway that believes X-Forwarded-For, an agent and a PostgreSQL with a thousand items. */
export async function startItemService(
  releasers: Releasers,
  gatewayEnv: Readonly<Record<string, string>> = {},
): Promise<Service> {
  const folder = await temporaryFolder('floods');
  await releasers.add(() => folder.remove());
  const postgres = await startPostgres({ folder: folder.path, settings: { fsync: 'off' } });
  await releasers.add(() => postgres.stop());
  await postgres.createDatabase('items');
  await postgres.execute('items', SQL);
  const service = await startService({
    database: { ...postgres, name: 'items' },
    capabilities: CAPABILITIES,
    keyCost: COST_AS_CREATED,
    gatewayEnv: { GATEWAY_TRUSTED_PROXY_CIDRS: '127.0.0.1', ...gatewayEnv },
  });
  await releasers.add(() => service.stop());
  return service;
}

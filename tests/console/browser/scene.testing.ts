import { startService, testDatabase, type Service } from '@svc/testkit';
import { CONSOLE_ENV, consoleUrl } from '../console.testing.ts';

/** Would show itself in any place that takes a text for markup or script. */
export const HOSTILE = `"><img src=x onerror=globalThis.broken=1><script>globalThis.broken=1</script>'javascript:globalThis.broken=1`;
/** Turns what follows around. */
export const TURNED = '\u202Eevil שלום';
/** Is not printed. */
export const BELL = '\u0007';

const CAPABILITIES = `
capabilities:
  get_film:
    description: ${JSON.stringify(`One film by its number. ${HOSTILE} ${TURNED} ${BELL}`)}
    sql: select :film_id as film_id, 'ACADEMY DINOSAUR' as title, null::text as language
    params:
      film_id: { type: integer, required: true, description: ${JSON.stringify(HOSTILE)} }
    result:
      film_id: { type: integer }
      title: { type: string }
      language: { type: string, nullable: true }
    examples: [{ params: { film_id: 1 } }]
  say:
    description: Gives back what it is sent
    sql: select :text as text, :flag as flag, :day as day
    params:
      text: { type: string }
      flag: { type: boolean }
      day: { type: string, enum: [monday, friday] }
    result:
      text: { type: string, nullable: true }
      flag: { type: boolean, nullable: true }
      day: { type: string, nullable: true }
  wide:
    description: Rows of long words
    sql: select i, repeat('long-word-', 30) as word from generate_series(1, 20) as i
    result:
      i: { type: integer }
      word: { type: string }
  long:
    description: A number that JavaScript would round
    sql: select 9007199254740993 as i
    result:
      i: { type: integer }
  fails:
    description: Divides by nothing
    sql: select 1 / :n as n
    params:
      n: { type: integer, required: true }
    result:
      n: { type: integer }
`;

export interface Scene {
  readonly service: Service;
  /** Without a path: of operators, and of callers. */
  readonly operator: string;
  readonly caller: string;
}

/** A gateway with both consoles, and some calls behind it. */
export async function startScene(gatewayEnv: Readonly<Record<string, string>> = {}): Promise<Scene> {
  const service = await startService({
    database: await testDatabase(),
    capabilities: CAPABILITIES,
    keys: { reports: 'get_film,gone', hostile: 'say' },
    keyFields: { hostile: { name: HOSTILE }, reports: { principal: TURNED } },
    gatewayEnv: { ...CONSOLE_ENV, GATEWAY_CONSOLE_PUBLIC: 'true', ...gatewayEnv },
  });
  const operator = await consoleUrl(service.gateway);
  await service.call('get_film', { film_id: 1 }, { headers: { 'X-Request-Id': 'first' } });
  await service.call('say', { text: HOSTILE }, { key: 'hostile' });
  await service.call('fails', { n: 0 });
  await service.call('say', { unknown: HOSTILE });
  return { service, operator, caller: service.url };
}

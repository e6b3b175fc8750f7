import { randomBytes } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { createRawKeyPair } from '@svc/protocol';
import { readEnvFile } from '../config/env-file.ts';
import { parseKeyRecords } from '../config/services/key-records.ts';
import { SETTINGS } from '../config/settings.ts';
import { createKey } from '../auth/api-keys/create-key.ts';
import { renderHelp } from '@svc/edge';
import { PROGRAM } from './program.ts';
import { renderAgentSecret, renderCreatedKey } from './render.ts';

const SETTING_LINE = /^ {2}(GATEWAY_\w+=.*)$/m;

describe('create-key output', () => {
  const created = createKey({ name: "Ann's report", capabilities: ['*'], randomBytes });
  const text = renderCreatedKey(created, false);
  const line = SETTING_LINE.exec(text)?.[1] ?? '';

  it('as JSON is exactly one object', () => {
    const json: unknown = JSON.parse(renderCreatedKey(created, true));
    expect(json).toEqual({ api_key: created.apiKey, record: created.record });
  });

  it('shows the key, and the setting ready for an environment file', () => {
    expect(text).toContain(`\n  ${created.apiKey}\n`);
    const file = readEnvFile(line);
    const value = 'values' in file ? (file.values['GATEWAY_API_KEYS_JSON'] ?? '') : '';
    expect(parseKeyRecords(value, 'setting')).toMatchObject({ ok: true, value: [{ name: "Ann's report" }] });
  });

  it('survives a shell', () => {
    const value = execFileSync('sh', ['-c', `${line}\nprintf %s "$GATEWAY_API_KEYS_JSON"`]).toString();
    expect(JSON.parse(value)).toEqual([created.record]);
  });
});

describe('create-agent-secret output', () => {
  const secret = createRawKeyPair();

  it('as JSON is exactly one object', () => {
    const json: unknown = JSON.parse(renderAgentSecret(secret, true));
    expect(json).toEqual({
      agent_private_key: secret.seed,
      agent_public_key: secret.publicKey,
    });
  });

  it('says which setting takes which key', () => {
    const text = renderAgentSecret(secret, false);
    expect(SETTING_LINE.exec(text)?.[1]).toBe(`GATEWAY_AGENT_PUBLIC_KEY=${secret.publicKey}`);
    expect(text).toContain('gateway.agent_private_key');
    expect(text).toContain(`agent_private_key: "${secret.seed}"`);
  });
});

it('help names every setting', () => {
  for (const setting of Object.keys(SETTINGS)) expect(renderHelp(PROGRAM, undefined)).toContain(setting);
});

import { describe, expect, it } from 'vitest';
import { issuerOf } from '../config/issuer-record.testing.ts';
import type { VerifiedToken } from '../model/verified-token.ts';
import { judgeClaims } from './judge-claims.ts';

function judge(payload: object, record: object = {}): VerifiedToken {
  const own = { name: 'own', issuer: 'https://id.example.com', audiences: ['us'], id_tokens: true };
  const usual = { aud: 'us', sub: 'user-1', iat: 0, exp: 3600 };
  const clock = { nowMs: 1000, clockSkewMs: 0 };
  const given = Object.entries({ ...usual, ...payload }).filter(([, value]) => value !== undefined);
  const outcome = judgeClaims(Object.fromEntries(given), issuerOf({ ...own, ...record }), clock);
  if (typeof outcome === 'string') throw new Error(outcome);
  return outcome;
}

describe('the client', () => {
  it.each<[object, string]>([
    [{ client_id: 'a', azp: 'b', cid: 'c', appid: 'd' }, 'a'],
    [{ azp: 'b', cid: 'c', appid: 'd' }, 'b'],
    [{ cid: 'c', appid: 'd' }, 'c'],
    [{ appid: 'd' }, 'd'],
    [{}, ''],
    [{ client_id: 5, azp: 'b' }, 'b'],
    [{ client_id: 'a\nb' }, ''],
  ])('of %j is "%s"', (payload, clientId) => {
    expect(judge(payload)).toMatchObject({ clientId });
  });

  it.each([
    [{ jti: 'a' }, 'a'],
    [{ jti: 'a'.repeat(256) }, ''],
    [{}, ''],
  ])('of %j has the token "%s"', (payload, tokenId) => {
    expect(judge(payload)).toMatchObject({ tokenId });
  });
});

describe('an audience in another claim', () => {
  const record = { audience_claim: 'client_id' };
  const failure = (payload: object): string => {
    try {
      judge(payload, record);
      return '';
    } catch (error) {
      return String(error);
    }
  };

  it('is one of the audiences', () => {
    expect(judge({ aud: undefined, client_id: 'us' }, record)).toMatchObject({ clientId: 'us' });
  });

  it.each<object>([{ client_id: 'them' }, { client_id: ['us'] }, { client_id: 'US' }, {}, { azp: 'us' }])(
    'is none in %j',
    (payload) => {
      expect(failure({ aud: undefined, ...payload })).toContain('audience');
    },
  );

  it('is not looked at in a token that has aud, whatever it says', () => {
    for (const aud of ['us', 'them', '', null, []])
      expect(failure({ aud, client_id: 'us' })).toContain('audience');
  });
});

describe('grants by scope', () => {
  const grants = [
    { capabilities: ['a'], scope: 'library.read' },
    { capabilities: ['b'], scope: 'library.*' },
  ];
  it.each<[object, readonly number[]]>([
    [{ scope: 'library.read' }, [0]],
    [{ scope: 'openid library.read email' }, [0]],
    [{ scp: 'x library.read' }, [0]],
    [{ scp: ['library.read', 'x'] }, [0]],
    [{ scope: ['library.read'] }, [0]],
    [{ scope: 'x', scp: ['library.read'] }, [0]],
    [{ scope: 'library.* library.read' }, [0, 1]],
    [{ scope: 'library.readx' }, []],
    [{ scope: 'xlibrary.read' }, []],
    [{ scope: 'library' }, []],
    [{ scope: '*' }, []],
    [{ scope: 'Library.Read' }, []],
    [{ scope: 'x\tlibrary.read' }, []],
    [{ scope: 'x,library.read' }, []],
    [{ scp: ['x library.read'] }, []],
    [{ scp: [['library.read']] }, []],
    [{ scope: { 'library.read': true } }, []],
    [{ scopes: 'library.read' }, []],
    [{}, []],
  ])('of %j are %j', (payload, matched) => {
    expect(judge(payload, { grants }).grants).toEqual(matched);
  });
});

describe('grants by claim', () => {
  const grants = [
    { capabilities: ['a'], claim: 'role', value: 'dba' },
    { capabilities: ['b'], claim: ['a', 'b'], value: 1 },
    { capabilities: ['c'], claim: 'a.b', value: true },
  ];
  it.each<[object, readonly number[]]>([
    [{ role: 'dba' }, [0]],
    [{ role: ['x', 'dba'] }, [0]],
    [{ a: { b: 1 } }, [1]],
    [{ a: { b: [2, 1] }, role: 'dba' }, [0, 1]],
    [{ 'a.b': true }, [2]],
    [{ role: 'dbadmin' }, []],
    [{ role: 'x dba' }, []],
    [{ role: { dba: true } }, []],
    [{ role: [['dba']] }, []],
    [{ a: { b: '1' } }, []],
    [{ a: { b: true }, 'a.b': 1 }, []],
    [{ a: [{ b: 1 }] }, []],
    [{ 'a.b': 'true' }, []],
  ])('of %j are %j', (payload, matched) => {
    expect(judge(payload, { grants }).grants).toEqual(matched);
  });
});

describe('claims', () => {
  it.each([['x'], [0], [2 ** 53 - 1], [-1.5], [true], [false], [['x', 'y']], [[]]])(
    'are known that are %j',
    (value) => {
      expect(judge({ org: value }, { claims: { org_id: 'org' } })).toMatchObject({
        claims: { org_id: value },
        claimsJson: JSON.stringify({ org_id: value }),
      });
    },
  );

  it.each([
    [null],
    [''],
    [{}],
    [{ a: 1 }],
    [[1]],
    [['x', '']],
    [['x', null]],
    ['a\0b'],
    ['\udc00'],
    [2 ** 53],
    [undefined],
  ])('are as if absent that are %j', (value) => {
    expect(judge({ org: value }, { claims: { org_id: 'org' } })).toMatchObject({
      claims: {},
      claimsJson: '{}',
    });
  });

  it('are those of the token alone, not what every object or list has', () => {
    const claims = {
      constructor: 'constructor',
      text: 'toString',
      name: ['constructor', 'name'],
      length: ['list', 'length'],
      first: ['list', '0'],
    };
    const verified = judge({ list: ['x'] }, { claims });
    expect(verified.claims['constructor']).toBe(undefined);
    expect(verified.claimsJson).toBe('{}');
  });
});

import { describe, expect, test } from 'vitest';
import { createUnauthenticatedPeers, type UnauthenticatedPeer } from './unauthenticated.ts';

const TEN_MINUTES = 600_000;

function setUp(knownSourcesMax?: number) {
  const clock = { ms: 0 };
  const peers = createUnauthenticatedPeers(() => clock.ms, knownSourcesMax);
  const accept = (source: string): UnauthenticatedPeer | undefined => {
    const decision = peers.accept(source);
    return decision.ok ? decision.peer : undefined;
  };
  const accepted = (source: string): UnauthenticatedPeer => {
    const peer = accept(source);
    if (peer === undefined) throw new Error(`${source} is refused`);
    return peer;
  };
  /** How many of so many are accepted when each leaves at once, as the flood does that must not shut others out. */
  const flood = (source: string, count: number): number => {
    let acceptedCount = 0;
    for (let dials = 0; dials < count; dials++) {
      const peer = accept(source);
      if (peer === undefined) continue;
      acceptedCount++;
      peer.closed(false);
    }
    return acceptedCount;
  };
  return {
    clock,
    accept,
    accepted,
    flood,
    authenticate: (source: string): void => accepted(source).authenticated(),
    refusal: (source: string): number | undefined => {
      const decision = peers.accept(source);
      return decision.ok ? undefined : decision.retryAfterSeconds;
    },
  };
}

describe('one source', { tags: ['limit:agent-endpoint'] }, () => {
  test('dials 40 times at once, then 20 times a second', () => {
    const { clock, flood } = setUp();
    expect(flood('a', 100)).toBe(40);
    clock.ms += 1000;
    expect(flood('a', 100)).toBe(20);
  });

  test('has 20 connections open until one has authenticated or has left', () => {
    const { accept, accepted } = setUp();
    const [first, second] = Array.from({ length: 20 }, () => accepted('a'));
    expect(accept('a')).toBeUndefined();
    first?.closed(false);
    // Called twice, it frees one place.
    first?.closed(false);
    expect(accept('a')).toBeDefined();
    expect(accept('a')).toBeUndefined();
    second?.authenticated();
    expect(accept('a'), 'a known source now').toBeDefined();
  });

  test('is told when to come back', () => {
    const { clock, flood, refusal } = setUp();
    flood('a', 40);
    expect(refusal('a')).toBe(1);
    clock.ms += 1000;
    expect(refusal('a')).toBeUndefined();
  });

  test('that floods costs others nothing, however long', () => {
    const { clock, flood } = setUp();
    for (let second = 0; second < 60; second++) {
      flood('flooding', 1000);
      expect(flood('agent', 1)).toBe(1);
      clock.ms += 1000;
    }
  });
});

describe('a source that completed a handshake', { tags: ['limit:agent-endpoint'] }, () => {
  test('has 100 open', () => {
    const { accept, authenticate } = setUp();
    authenticate('a');
    const dials = Array.from({ length: 110 }, () => accept('a'));
    expect(dials.filter((peer) => peer !== undefined)).toHaveLength(100);
  });

  test('has 100 a second while others leave them, for 10 minutes', () => {
    const { clock, authenticate, flood } = setUp();
    authenticate('a');
    clock.ms += TEN_MINUTES - 1001;
    // The bursts of both halves, but for what is left to unknown sources.
    expect(flood('a', 1000)).toBe(180);
    clock.ms += 1000;
    expect(flood('a', 1000)).toBe(100);
    clock.ms += 1;
    expect(flood('b', 1)).toBe(1);
    clock.ms += 10_000;
    expect(flood('a', 1000), 'forgotten').toBe(40);
  });

  test('is known again for 10 minutes once the agent disconnects, however long that was connected', () => {
    const { clock, accepted, flood } = setUp();
    const agent = accepted('a');
    agent.authenticated();
    clock.ms += 24 * 60 * 60_000;
    agent.closed(false);
    clock.ms += TEN_MINUTES - 1;
    expect(flood('a', 1000)).toBe(180);
    clock.ms += 10_000;
    expect(flood('a', 1000), 'forgotten').toBe(40);
  });

  test('leaves a share to one that has not', () => {
    const { clock, authenticate, flood } = setUp();
    authenticate('a');
    for (let second = 0; second < 60; second++) {
      flood('a', 1000);
      expect(flood('agent', 20)).toBe(20);
      clock.ms += 1000;
    }
  });

  test('pays a tenth for a connection that it leaves at the challenge', () => {
    const { accept, authenticate } = setUp();
    authenticate('a');
    let left = 0;
    for (let peer = accept('a'); peer !== undefined && left < 5000; peer = accept('a'), left++)
      peer.closed(true);
    // Of the 180 at once the last of each half find no whole token.
    expect(left).toBeGreaterThan(1750);
    expect(left).toBeLessThan(1800);
  });

  test('is not shut out by any number of others', () => {
    const { clock, accept, authenticate, flood } = setUp();
    authenticate('agent');
    for (let second = 0; second < 30; second++) {
      for (let source = 0; source < 50; source++) {
        flood(`flooding ${source}`, 5);
        for (let open = 0; open < 20; open++) accept(`staying ${source}`);
      }
      expect(flood('agent', 50)).toBe(50);
      clock.ms += 1000;
    }
  });

  test('is remembered among at most so many, the latest of them', () => {
    const { clock, authenticate, flood } = setUp(2);
    for (const source of ['a', 'b', 'a', 'c']) authenticate(source);
    clock.ms += 10_000;
    expect(flood('b', 1000)).toBe(40);
    clock.ms += 10_000;
    expect(flood('a', 1000)).toBe(180);
    clock.ms += 10_000;
    expect(flood('c', 1000)).toBe(180);
  });
});

describe('all sources together', { tags: ['limit:agent-endpoint'] }, () => {
  const all = (count: number, dial: (source: string) => number): number =>
    Array.from({ length: count }, (_, index) => dial(`source ${index}`)).reduce((sum, each) => sum + each, 0);

  test('dial 100 times at once and 50 times a second while none of them is known', () => {
    const { clock, flood } = setUp();
    expect(all(100, (source) => flood(source, 5))).toBe(100);
    clock.ms += 1000;
    expect(all(100, (source) => flood(source, 5))).toBe(50);
  });

  test('have 100 connections open while none of them is known, and 200 with those that are', () => {
    const { clock, accept, authenticate } = setUp();
    for (const source of ['known 1', 'known 2']) authenticate(source);
    const open = (source: string, count: number): number =>
      Array.from({ length: count }, () => accept(source)).filter((peer) => peer !== undefined).length;
    let unknown = 0;
    for (let second = 0; second < 10; second++) {
      unknown += all(20, (source) => open(source, 10));
      clock.ms += 1000;
    }
    expect(unknown).toBe(100);
    expect(open('known 1', 60)).toBe(60);
    expect(open('known 2', 60)).toBe(40);
  });

  test('always find some room beside known ones', () => {
    const { clock, accept, authenticate } = setUp();
    const open = (source: string, count: number): number =>
      Array.from({ length: count }, () => accept(source)).filter((peer) => peer !== undefined).length;
    for (const source of ['known 1', 'known 2']) authenticate(source);
    clock.ms += 10_000;
    expect(open('known 1', 100) + open('known 2', 100)).toBe(180);
    expect(open('new', 20)).toBe(20);
  });
});

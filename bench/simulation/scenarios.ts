import type { Cell } from './cell.ts';

export interface Scenario {
  readonly name: string;
  readonly replicas: number;
  readonly agentsPerSource: number;
  /** Whether all agents have their links when it begins. */
  readonly isSettled: boolean;
  /** Of what is watched, from its begin on. */
  readonly lastsMs: number;
  begin(cell: Cell): void;
}

const SECOND = 1000;
/** After this time a dead machine is noticed and its addresses leave the name. */
const NAME_KEEPS_DEAD_MS = 40 * SECOND;

const usual = { replicas: 10, agentsPerSource: 1, isSettled: true } as const;

export const BEHIND_ONE_ADDRESS: Scenario = {
  ...usual,
  name: 'as above, all behind one address',
  isSettled: false,
  agentsPerSource: 1000,
  lastsMs: 240 * SECOND,
  begin: (cell) => cell.startAgents(SECOND),
};

/** All new replicas come at once. */
function grown(replicas: number, to: number): Scenario {
  return {
    ...usual,
    name: `from ${replicas} to ${to} replicas`,
    replicas,
    lastsMs: 120 * SECOND,
    begin(cell) {
      for (let count = replicas; count < to; count++) cell.addReplica();
    },
  };
}

export const SCENARIOS: readonly Scenario[] = [
  {
    ...usual,
    name: 'all agents start at once',
    isSettled: false,
    lastsMs: 120 * SECOND,
    begin: (cell) => cell.startAgents(SECOND),
  },
  BEHIND_ONE_ADDRESS,
  {
    ...usual,
    name: 'roll-out, one replica after another',
    lastsMs: 420 * SECOND,
    begin(cell) {
      const { clock, way } = cell;
      for (let number = 0; number < usual.replicas; number++) {
        clock.after(number * 30 * SECOND, () => {
          const old = cell.gatewayOf(number);
          if (way === 'numbers') {
            // The next one has the same name, and is started when the old one has ended.
            old?.leave();
            clock.after(3 * SECOND, () => cell.addReplica(number));
            return;
          }
          // One more comes, is waited for, and one of the old ones leaves.
          cell.addReplica(number + usual.replicas);
          clock.after(20 * SECOND, () => old?.leave());
        });
      }
    },
  },
  {
    ...usual,
    name: 'all replicas restart at once',
    lastsMs: 120 * SECOND,
    begin(cell) {
      for (let number = 0; number < usual.replicas; number++) {
        cell.gatewayOf(number)?.kill();
        cell.clock.after(2 * SECOND, () => cell.addReplica(number));
      }
    },
  },
  {
    ...usual,
    name: 'a third goes dark, and comes back elsewhere after 60 s',
    lastsMs: 240 * SECOND,
    begin(cell) {
      cell.freezeNames(NAME_KEEPS_DEAD_MS);
      for (let number = 0; number < 3; number++) {
        const gateway = cell.gatewayOf(number);
        if (gateway === undefined) continue;
        cell.setSilent(gateway);
        gateway.darken();
        cell.clock.after(60 * SECOND, () => cell.addReplica(number));
      }
    },
  },
  grown(3, 6),
  grown(3, usual.replicas),
  {
    ...usual,
    name: 'three replicas are replaced while names are stale for 60 s',
    lastsMs: 240 * SECOND,
    begin(cell) {
      cell.freezeNames(60 * SECOND);
      for (let number = 0; number < 3; number++) {
        cell.gatewayOf(number)?.kill();
        cell.addReplica(number);
      }
    },
  },
];

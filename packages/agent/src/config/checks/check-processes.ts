import { sectionOf } from '../../capabilities/database-names.ts';
import type { Fault, Position } from '../../capabilities/fault.ts';
import type { Driver } from '../../databases/driver/driver.ts';
import { driverOf } from '../../databases/drivers.ts';
import type { AgentConfig } from '../model.ts';
import type { Path } from '../path.ts';

declare const __SVC_VERSION__: string;

/** What the file asks for that needs processes, if none can be started. */
export function checkProcesses(
  { databases, runtime }: AgentConfig,
  positionOf: (at: Path) => Position,
): readonly Fault[] {
  const fault = (path: Path, message: string): Fault => ({
    path: path.join('.'),
    message,
    position: positionOf(path),
  });
  const engines = Object.entries(databases).flatMap(([name, { driver }]) => {
    const problem = engineProblem(driverOf(driver));
    return problem === undefined ? [] : [fault([...sectionOf(name), 'driver'], problem)];
  });
  if (runtime.workers === 1) return engines;
  return [...engines, fault(['runtime', 'workers'], `above 1 ${needsProcesses()}`)];
}

/** Why the driver cannot be used if no process can be started; undefined for a database that is a server. */
export function engineProblem({ engineCode, systemName }: Driver): string | undefined {
  return engineCode === undefined ? undefined : `${systemName} ${needsProcesses()}`;
}

function needsProcesses(): string {
  const tarball = `svc-${__SVC_VERSION__}.tgz`;
  return `needs processes of its own, which this application cannot start: install Node.js, download ${tarball}, run \`npm install -g ./${tarball}\`, and have the application start \`svc stdio\``;
}

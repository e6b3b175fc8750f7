import { ask, type RunningProcess } from '@svc/testkit';

/** The metrics page of a gateway. */
export async function metricsOf(process: RunningProcess): Promise<string> {
  const line = await process.waitForLine((text) => text.includes('"event":"metrics_listening"'));
  const { port }: { port: number } = JSON.parse(line);
  return (await ask(`http://127.0.0.1:${port}/metrics`)).text;
}

/** Leases that Valkey did not answer, and losses of it. */
export async function unanswered(processes: readonly RunningProcess[]): Promise<number> {
  const pages = await Promise.all(processes.map(metricsOf));
  const leases = pages.map((page) => Number(/leases_total\{result="unanswered"\} (\d+)/.exec(page)?.[1]));
  const losses = processes.map((process) => process.output('stdout').split('shared_limits_lost').length);
  return [...leases, ...losses].reduce((sum, count) => sum + count, 0);
}

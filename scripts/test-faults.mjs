import { parseArgs } from 'node:util';
import { buildExecutables } from './bundle.mjs';
import { install } from './install.mjs';

const usage = `Usage: npm run test:faults -- [--minutes N] [--only NAME[,NAME...]]

Breaks the link between a gateway and an agent in every way that there is a promise for, with the durations and
numbers that prove it, and checks after each that nothing was left behind; npm test has a short form of each.
One round takes about 15 minutes; --minutes begins another one until that much time has passed.
`;

// Left to end by itself, Node.js 20 has been seen to spin for ever after everything here was closed.
process.exit(await main());

async function main() {
  const options = readOptions();
  if (options === undefined) return 2;
  await install();
  await buildExecutables();
  // Its cache would stay in the temporary folder.
  process.env.TSX_DISABLE_CACHE = '1';
  const { register } = await import('tsx/esm/api');
  register();
  const { faultNames, runLongForms } = await import('../tests/trust/link-long-forms.ts');
  const unknown = (options.only ?? []).filter((name) => !faultNames.includes(name));
  if (unknown.length > 0) {
    process.stderr.write(
      `cannot start: no fault ${unknown.join(', ')}; there are ${faultNames.join(', ')}\n`,
    );
    return 2;
  }
  const started = performance.now();
  const code = await runLongForms(options);
  process.stderr.write(`Ended after ${Math.round((performance.now() - started) / 1000)} s\n`);
  return code;
}

/** Undefined when they make no sense. */
function readOptions() {
  try {
    const { values } = parseArgs({
      options: { minutes: { type: 'string' }, only: { type: 'string' }, help: { type: 'boolean' } },
    });
    if (values.help) {
      process.stdout.write(usage);
      process.exit(0);
    }
    const minutes = Number(values.minutes ?? 0);
    if (!(minutes >= 0)) throw new Error('--minutes must be a number of minutes');
    return { minutes, only: values.only?.split(',').map((name) => name.trim()) };
  } catch (error) {
    process.stderr.write(`cannot start: ${error.message}\n${usage}`);
    return undefined;
  }
}

import { startPostgres } from './start-postgres.ts';

// Starts a server and holds it until this process is killed.
const postgres = await startPostgres();
process.stdout.write(`${JSON.stringify({ port: postgres.port })}\n`);
setInterval(() => {}, 60_000);

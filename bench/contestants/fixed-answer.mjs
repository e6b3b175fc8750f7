// The floor for one process of Node.js: reads the request and answers the same bytes to all of a path.
import { createServer } from 'node:http';
import process from 'node:process';

const answers = new Map(
  Object.entries(JSON.parse(process.argv[2] ?? '')).map(([path, text]) => [path, Buffer.from(text)]),
);
const server = createServer((request, response) => {
  request.resume();
  request.once('end', () => {
    const answer = answers.get(request.url);
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length });
    response.end(answer);
  });
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`listening on ${server.address().port}\n`));
process.once('SIGTERM', () => process.exit());

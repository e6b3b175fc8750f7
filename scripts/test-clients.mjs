import { join } from 'node:path';
import { installAndBuild } from './bundle.mjs';
import { root } from './install.mjs';
import { readOptions } from './read-options.mjs';
import { createTools } from './tools.mjs';
import { runVitest } from './vitest.mjs';

readOptions(`Usage: npm run test:clients

Starts \`svc stdio\` with Claude Code, Gemini CLI, Codex and the official client for Python, and has each get rows.

Calls many changed capabilities with clients that were generated before the change, wherever \`svc-agent diff\` calls the
change compatible: with openapi-typescript and openapi-fetch, and with openapi-python-client. oasdiff gives a second opinion.
SVC_SEED=<number> repeats a run.
`);
await installAndBuild();
const tools = createTools(join(root, '.cache/client-tools'));
tools.installWithGo({ oasdiff: 'github.com/oasdiff/oasdiff@v1.35.0' });
tools.installWithPip('openapi-python-client', 'openapi-python-client==0.29.1');
tools.installWithNpm({
  'claude-code': '@anthropic-ai/claude-code@2.1.332',
  'gemini-cli': '@google/gemini-cli@0.61.0',
  codex: '@openai/codex@0.171.0',
});
for (const version of ['1.30.0', '2.3.0']) tools.installWithPip(`mcp-${version}`, `mcp==${version}`);
await runVitest([], 'clients');

import type { Capability } from '../capabilities/model.ts';
import { paramsSchema } from '../capabilities/openapi/params-schema.ts';
import { publishedExamples } from '../capabilities/openapi/published-examples.ts';
import { resultSchema } from '../capabilities/openapi/result-schema.ts';
import { findingOf, type Finding } from './finding.ts';

const BYTES_PER_TOKEN = 4;
const TOOL_TOKENS = 600;
const LIST_TOKENS = 10_000;
const RESULT_TOKENS = 20_000;

const toolSize = findingOf('tool-size', 'warn');
const resultSize = findingOf('result-size', 'advice');

/** Models read all tools before their first call, and all of a result: roughly a token for four bytes. */
export function sizes(shown: readonly Capability[]): readonly Finding[] {
  const tools = shown.map((capability) => ({ capability, tokens: tokensOf(toolText(capability)) }));
  const all = tools.reduce((sum, { tokens }) => sum + tokens, 0);
  const [first] = shown;
  return [
    ...tools
      .filter(({ tokens }) => tokens > TOOL_TOKENS)
      .map(({ capability, tokens }) => {
        const message = `is a tool of about ${tokens} tokens, more than ${TOOL_TOKENS}: shorten descriptions, leave out fields and examples, or split it`;
        return toolSize(capability, capability, message);
      }),
    ...shown
      .filter(({ limits }) => limits.maxBytes > RESULT_TOKENS * BYTES_PER_TOKEN)
      .map((capability) => {
        const most = Math.floor(capability.limits.maxBytes / BYTES_PER_TOKEN);
        const message = `may give about ${most} tokens, more than ${RESULT_TOKENS}: set \`max_bytes: 64KB\` or less here or in \`defaults\`, and \`max_rows\``;
        return resultSize(capability, capability, message);
      }),
    ...(all > LIST_TOKENS && first !== undefined ? [listSize(all, first)] : []),
  ];
}

function listSize(tokens: number, { position }: Capability): Finding {
  return {
    capability: '',
    rule: 'list-size',
    level: 'warn',
    path: 'capabilities',
    message: `are a list of about ${tokens} tokens, more than ${LIST_TOKENS}: give each API key those alone that it needs, shorten descriptions, or hide some with \`expose_in_openapi: false\``,
    position,
  };
}

/** About what the gateway makes of it. */
function toolText(capability: Capability): string {
  const { name, description, params, examples = [] } = capability;
  return JSON.stringify({
    name,
    description,
    inputSchema: { ...paramsSchema(params), ...publishedExamples(examples) },
    outputSchema: resultSchema(capability),
  });
}

function tokensOf(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

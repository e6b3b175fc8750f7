import type { Capability } from '../capabilities/model.ts';
import { paramsSchema } from '../capabilities/openapi/params-schema.ts';
import { resultSchema } from '../capabilities/openapi/result-schema.ts';
import { findingOf, type Finding } from './finding.ts';

const BYTES_PER_TOKEN = 4;
const TOOL_TOKENS = 600;
const LIST_TOKENS = 10_000;
const RESULT_TOKENS = 20_000;

const OTHER_WAYS =
  'give each API key only the capabilities that it needs, shorten descriptions, or hide some with `expose_in_openapi: false`';

const toolSize = findingOf('tool-size', 'warn');
const resultSize = findingOf('result-size', 'advice');

/** Models read all tools before their first call, and all of a result: roughly a token for four bytes. */
export function sizes(shown: readonly Capability[]): readonly Finding[] {
  const tools = shown.map((capability) => ({ capability, tokens: tokensOf(toolText(capability)) }));
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
    ...listSize(shown, sumOf(tools.map(({ tokens }) => tokens))),
  ];
}

/** The schemas of results may be most of it, and the gateway can leave them out. */
function listSize(shown: readonly Capability[], all: number): readonly Finding[] {
  const [first] = shown;
  if (first === undefined || all <= LIST_TOKENS) return [];
  const texts = shown.map((capability) => JSON.stringify(withoutResult(capability)));
  const read = sumOf(texts.map(tokensOf));
  const isLong = read > LIST_TOKENS;
  const bytesOf = (all: readonly string[]): number => sumOf(all.map((text) => Buffer.byteLength(text)));
  const bytes = bytesOf(shown.map(toolText)) - bytesOf(texts);
  const message = isLong
    ? `are a list of about ${all} tokens, more than ${LIST_TOKENS}: ${OTHER_WAYS}`
    : `are a list of about ${all} tokens, more than ${LIST_TOKENS}, but ${read} without the schemas of results, which are ${bytes} bytes: GATEWAY_MCP_OUTPUT_SCHEMA=false leaves these out; or ${OTHER_WAYS}`;
  const level = isLong ? 'warn' : 'advice';
  return [
    { capability: '', rule: 'list-size', level, path: 'capabilities', message, position: first.position },
  ];
}

/** Roughly the tool that the gateway makes of the capability. */
function toolText(capability: Capability): string {
  return JSON.stringify({ ...withoutResult(capability), outputSchema: resultSchema(capability) });
}

function withoutResult(capability: Capability): Readonly<Record<string, unknown>> {
  const { name, description } = capability;
  return { name, description, inputSchema: paramsSchema(capability) };
}

function tokensOf(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

import { createServer, type IncomingMessage } from 'node:http';
import { listenOnLoopback } from '@svc/testkit';

/** A conversation as a provider's API has it: how the model calls a tool, and how it says a text. */
interface Dialect {
  /** Whether this path is the one by which the model is asked. */
  isQuestion(path: string): boolean;
  /** The texts of the tool's answer in a request; undefined as long as there is none. */
  toolAnswer(request: unknown): string | undefined;
  callTool(tool: Tool, args: object): readonly Event[];
  say(text: string): readonly Event[];
}

/** By the names that the client gives it. */
interface Tool {
  readonly name: string;
  readonly namespace?: string;
}

/** A server-sent event. */
type Event = object;

export interface Model {
  readonly url: string;
  /** What the tool answered, as the client gave it to the model. Undefined if the model was never given an answer. */
  answer(): string | undefined;
  close(): Promise<void>;
}

/**
 * Plays the model of a client's provider: it calls this tool in its first answer, and says a word when it has the tool's
 * answer. Real ones need an account and would choose by themselves.
 */
export async function playModel(dialect: Dialect, tool: Tool, args: object): Promise<Model> {
  let answer: string | undefined;
  const server = createServer((request, response) => {
    void textOf(request).then((text) => {
      const path = request.url ?? '';
      if (!dialect.isQuestion(path)) {
        response.writeHead(404, { 'content-type': 'application/json' }).end('{}');
        return;
      }
      const found = dialect.toolAnswer(JSON.parse(text));
      answer ??= found;
      const mayCall = text.includes(`"${tool.name}"`);
      const events = found === undefined && mayCall ? dialect.callTool(tool, args) : dialect.say('Done.');
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const event of events) response.write(sent(event));
      response.end();
    });
  });
  const port = await listenOnLoopback(server);
  return {
    url: `http://127.0.0.1:${port}`,
    answer: () => answer,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function sent(event: Event): string {
  const type = 'type' in event ? `event: ${String(event.type)}\n` : '';
  return `${type}data: ${JSON.stringify(event)}\n\n`;
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  request.setEncoding('utf8');
  for await (const chunk of request) text += String(chunk);
  return text;
}

/** The last object in `value`, at any depth, that `is` what is looked for. */
function findLast(value: unknown, is: (each: object) => boolean): object | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const inside = Object.values(value)
    .map((each: unknown) => findLast(each, is))
    .findLast((each) => each !== undefined);
  return inside ?? (is(value) ? value : undefined);
}

const hasType = (type: string) => (each: object) => 'type' in each && each.type === type;

/** The Messages API of Anthropic. */
export const ANTHROPIC: Dialect = {
  isQuestion: (path) => path.startsWith('/v1/messages') && !path.includes('count_tokens'),
  toolAnswer: (request) => {
    const found = findLast(request, hasType('tool_result'));
    return found === undefined ? undefined : JSON.stringify(found);
  },
  callTool: ({ name }, args) =>
    anthropicMessage('tool_use', { type: 'tool_use', id: 'toolu_1', name, input: {} }, [
      { type: 'input_json_delta', partial_json: JSON.stringify(args) },
    ]),
  say: (text) => anthropicMessage('end_turn', { type: 'text', text: '' }, [{ type: 'text_delta', text }]),
};

function anthropicMessage(reason: string, block: object, deltas: readonly object[]): readonly Event[] {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'played', content: [], usage };
  return [
    { type: 'message_start', message: { ...message, stop_reason: null, stop_sequence: null } },
    { type: 'content_block_start', index: 0, content_block: block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index: 0, delta })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage },
    { type: 'message_stop' },
  ];
}

/** The Gemini API of Google. */
export const GEMINI: Dialect = {
  isQuestion: (path) => path.includes(':streamGenerateContent'),
  toolAnswer: (request) => {
    const found = findLast(request, (each) => 'functionResponse' in each);
    return found === undefined ? undefined : JSON.stringify(found);
  },
  callTool: ({ name }, args) => geminiContent({ functionCall: { name, args } }),
  say: (text) => geminiContent({ text }),
};

function geminiContent(part: object): readonly Event[] {
  const content = { role: 'model', parts: [part] };
  const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
  return [{ candidates: [{ index: 0, content, finishReason: 'STOP' }], usageMetadata }];
}

/** The Responses API of OpenAI. */
export const OPENAI: Dialect = {
  isQuestion: (path) => path.endsWith('/responses'),
  toolAnswer: (request) => {
    const found = findLast(request, hasType('function_call_output'));
    return found === undefined ? undefined : JSON.stringify(found);
  },
  callTool: (tool, args) =>
    openaiResponse({
      type: 'function_call',
      id: 'fc_1',
      call_id: 'call_1',
      ...tool,
      arguments: JSON.stringify(args),
    }),
  say: (text) =>
    openaiResponse({
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      content: [{ type: 'output_text', text }],
    }),
};

function openaiResponse(item: object): readonly Event[] {
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
  return [
    { type: 'response.created', response: { id: 'resp_1' } },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: { id: 'resp_1', output: [item], usage } },
  ];
}

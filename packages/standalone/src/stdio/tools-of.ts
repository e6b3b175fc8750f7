import { createAbort } from '@svc/edge';
import {
  bytesOf,
  createRevisions,
  emptyCallLog,
  MCP_REVISIONS,
  type ApiKeyPrincipal,
  type ServeMessage,
} from '@svc/gateway/mcp';
import { createCallsById } from './calls-by-id.ts';

/** What this caller's list of tools says: the first page names the next by a digest of all. */
export async function toolsOf(serve: ServeMessage, principal: ApiKeyPrincipal): Promise<Buffer> {
  const answer = await serve(
    { id: '0', method: 'tools/list', params: {}, raw: Buffer.from('{}') },
    {
      principal,
      requestId: '',
      traceparents: [],
      signal: createAbort().signal,
      log: emptyCallLog(),
      transport: createCallsById(createRevisions(MCP_REVISIONS)),
      batched: false,
      beginTrace: undefined,
    },
  );
  return Buffer.concat(answer.parts.map((part) => bytesOf(part)));
}

import { badRequest, isObject, plainId, RPC, type Message } from '@svc/gateway/mcp';

/** `subscriptions/listen`: requests that stay open, and hear when the list of tools changes. */
export interface Subscriptions {
  /** Throws RpcError when too many are open, or one with this id. */
  open(id: string, message: Message): void;
  /** Ends the one with this id, without an answer. */
  cancel(id: string): void;
  listChanged(): void;
  /** Answers all. */
  close(): void;
}

const OPEN_MAX = 8;
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';

export function createSubscriptions(send: (json: string) => void): Subscriptions {
  /** By the plain id: its JSON, and whether it hears of tools. */
  const open = new Map<string, { readonly id: string; readonly hearsTools: boolean }>();
  const notify = (method: string, params: string): void =>
    send(`{"jsonrpc":"2.0","method":"${method}","params":{${params}}}`);
  const meta = (id: string): string => `"_meta":{"${SUBSCRIPTION}":${id}}`;
  return {
    open(id, { params }) {
      const key = plainId(id);
      if (open.size >= OPEN_MAX)
        throw badRequest(RPC.invalidRequest, `at most ${OPEN_MAX} subscriptions are open`);
      if (open.has(key)) throw badRequest(RPC.invalidRequest, 'a subscription with this id is open');
      const { notifications } = params;
      if (!isObject(notifications))
        throw badRequest(RPC.invalidParams, 'params.notifications must be an object');
      const hearsTools = notifications['toolsListChanged'] === true;
      open.set(key, { id, hearsTools });
      const agreed = hearsTools ? '"toolsListChanged":true' : '';
      notify('notifications/subscriptions/acknowledged', `${meta(id)},"notifications":{${agreed}}`);
    },
    cancel: (id) => void open.delete(plainId(id)),
    listChanged() {
      for (const { id, hearsTools } of open.values())
        if (hearsTools) notify('notifications/tools/list_changed', meta(id));
    },
    close() {
      for (const { id } of open.values())
        send(`{"jsonrpc":"2.0","id":${id},"result":{"resultType":"complete",${meta(id)}}}`);
      open.clear();
    },
  };
}

/** Why a side closes the WebSocket (PROTOCOL.md, "Close codes"). */
export const CLOSE = {
  going_away: 1001,
  protocol_error: 4400,
  /** Deliberately one answer for an unknown key and for a bad signature. */
  unauthorized: 4401,
  wrong_audience: 4403,
  handshake_timeout: 4408,
  /** Only to agents that accepted the feature `fleet`, which then look elsewhere. */
  enough_links: 4409,
  bad_description: 4422,
  no_common_version: 4426,
} as const;
export type CloseCode = (typeof CLOSE)[keyof typeof CLOSE];

/** For docs/reference/errors.md. */
export const CLOSE_MEANINGS: Readonly<Record<CloseCode, string>> = {
  1001: 'A clean end: one side is shutting down.',
  4400: 'The other side broke the protocol.',
  4401: 'The gateway does not know the key of the agent, or the signature is wrong.',
  4403: 'The agent dialled a URL that is not one of the gateway.',
  4408: 'The handshake took longer than 5 s.',
  4409: 'The gateway takes no further link here (GATEWAY_MAX_AGENT_LINKS); the agent looks for another worker or replica.',
  4422: 'The description of the agent is missing, late, malformed, too long, or not the one it signed.',
  4426: 'Agent and gateway have no protocol version in common.',
};

/** The other side broke a rule of the protocol; `code` is what the socket is closed with. */
export class ProtocolError extends Error {
  readonly code: CloseCode;
  constructor(message: string, code: CloseCode = CLOSE.protocol_error) {
    super(message);
    this.name = 'ProtocolError';
    this.code = code;
  }
}

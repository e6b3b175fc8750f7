/** Why a side closes the WebSocket (PROTOCOL.md, "Close codes"). */
export const CLOSE = {
  /** A clean end after go-away. */
  going_away: 1001,
  /** The other side broke the protocol. */
  protocol_error: 4400,
  /** Unknown key or bad signature: deliberately one answer for both. */
  unauthorized: 4401,
  /** The signature is for another gateway. */
  wrong_audience: 4403,
  /** The handshake took longer than it may. */
  handshake_timeout: 4408,
  /** As many links as are taken here: only to agents that accepted the feature `fleet`, which then look elsewhere. */
  enough_links: 4409,
  /** The description does not parse or does not match what was signed. */
  bad_description: 4422,
  /** No protocol version in common. */
  no_common_version: 4426,
} as const;
export type CloseCode = (typeof CLOSE)[keyof typeof CLOSE];

/** The other side broke a rule of the protocol; `code` is what the socket is closed with. */
export class ProtocolError extends Error {
  readonly code: CloseCode;
  constructor(message: string, code: CloseCode = CLOSE.protocol_error) {
    super(message);
    this.name = 'ProtocolError';
    this.code = code;
  }
}

/** Every bound and interval of the protocol (PROTOCOL.md); bytes and milliseconds. */
export const HANDSHAKE_MESSAGE_MAX_BYTES = 4096;
export const HANDSHAKE_TIMEOUT_MS = 5000;

export const FRAME_HEADER_BYTES = 8;
/** The greatest value of the 16-bit length field. */
export const FRAME_PAYLOAD_MAX_BYTES = 65_535;
/** Either many small frames or one of the largest. */
export const MESSAGE_MAX_BYTES: number = FRAME_HEADER_BYTES + FRAME_PAYLOAD_MAX_BYTES;
/** How much of a body may travel before the receiver grants more. */
export const INITIAL_CREDIT_BYTES = 131_072;
/** The largest parameters of one call. */
export const PARAMS_MAX_BYTES: number = 64 * 1024 * 1024;
/** The largest rows array of one call; the gateway holds it whole, so that it never sends half. */
export const RESULT_MAX_BYTES: number = 64 * 1024 * 1024;
/** The longest description of an agent. */
export const DESCRIPTION_MAX_BYTES: number = 8 * 1024 * 1024;
/** The most capabilities of one description. */
export const DESCRIBED_MAX = 100_000;
/** Public text of a failed call. */
export const ERROR_MESSAGE_MAX_BYTES = 16_384;
/** The most calls that an agent may announce that it takes at once, running and queued. */
export const MAX_INFLIGHT_MAX = 1_000_000;
export const CALL_ID_MAX = 0xffff_ffff;

/** Workers of one replica. */
export const WORKERS_MAX = 64;

export const PING_AFTER_SILENCE_MS = 15_000;
/** Share of the interval by which each end varies it at random, so that many agents do not ping at the same time. */
export const PING_JITTER = 0.1;
export const DEAD_AFTER_PING_MS = 10_000;
/** A timer this late means that our own event loop stood still: the peer may have answered unseen. */
export const OWN_LAG_MS = 2000;

export const DIAL_TIMEOUT_MS = 10_000;
export const DRAIN_TIMEOUT_MS = 25_000;

/** Reserved: no capability file can define it and no caller can reach it. */
export const DESCRIBE_CAPABILITY = '$describe';
export const WEBSOCKET_SUBPROTOCOL = 'svc-agent.v1';
/** What both executables speak; a gateway takes the greatest that the agent offers. */
export const PROTOCOL_VERSIONS = [1, 2] as const;
export type ProtocolVersion = (typeof PROTOCOL_VERSIONS)[number];

/** Of `features`: several replicas and workers, found and told apart by the agent. */
export const FLEET_FEATURE = 'fleet';
/** Of `features`: how databases are is told to the gateway, and calls fail with AGENT_DATABASE_UNAVAILABLE. */
export const DATABASES_FEATURE = 'databases';
/** Of `features`: an answer that was cut may have a cursor, by which a call goes on after its last row. */
export const CURSOR_FEATURE = 'cursor';
export const CURSOR_MAX_BYTES = 8192;
/** The most databases that one frame tells of. */
export const DATABASES_MAX = 1000;
/** The only database of an agent whose file gives it no name. */
export const ONLY_DATABASE = 'database';
export const SERVICE_ID_PATTERN = '^[a-z][a-z0-9-]{0,47}$';
/** The service of agents and callers that name none. */
export const DEFAULT_SERVICE = 'default';

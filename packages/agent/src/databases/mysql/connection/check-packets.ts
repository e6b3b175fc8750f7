import type { Duplex } from 'node:stream';
import type { Connection } from 'mysql2';
import { DatabaseError } from '../../driver/errors.ts';
import { PacketLengths } from './packet-lengths.ts';

/** A packet as the library hands it on. It reuses the object. */
interface Packet {
  sequenceId: number;
  readonly buffer: Buffer;
  readonly offset: number;
  readonly end: number;
}

/** The library's own fields of a connection that concern packets. */
interface Library {
  readonly stream: Duplex;
  readonly sequenceId: number;
  readonly authorized: boolean;
  packetParser: { execute(chunk: Buffer): void };
  handlePacket(packet?: Packet): void;
  readonly _command?: Command;
}

interface Command {
  /** Null if the server asks for a file. */
  readonly _fieldCount?: number | null;
  readonly _resultIndex?: number;
}

const ERROR = 0xff;
/** The first byte of the packet that ends a result, and its most bytes. */
const END = 0xfe;
const END_BYTES = 8;
const GEOMETRY = 255;
/** A login takes one packet a step, and a few more with several factors. */
const LOGIN_PACKETS = 64;
const MOST_COLUMNS = 4096;

export interface CheckedPackets {
  readonly lengths: PacketLengths;
  /** How many warnings the server has counted for the last result. */
  readonly warnings: () => number;
}

/**
 * Checks what a server sends before and after the library reads it. The library joins packets however long they become,
 * believes every length and number in them, and writes a line on standard error for each that is out of order. What is
 * thrown for it here, or by the library, ends the connection alone: uncaught it would end the agent.
 */
export function checkPackets(connection: Connection): CheckedPackets {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const library = connection as unknown as Library;
  const lengths = new PacketLengths();
  const parser = library.packetParser;
  const handle = library.handlePacket.bind(connection);
  let isBroken = false;
  let loginPackets = 0;
  let warnings = 0;
  /** Whether a packet of the current chunk has switched the connection to TLS. */
  let isUpgraded = false;

  function end(error: unknown): void {
    isBroken = true;
    library.stream.destroy(error instanceof Error ? error : new Error(String(error)));
  }

  function checkBefore(packet: Packet): void {
    if (isUpgraded) throw malformed('packets that are not encrypted behind its greeting');
    if (!library.authorized && (loginPackets += 1) > LOGIN_PACKETS) throw malformed('a login without an end');
    if (packet.sequenceId === library.sequenceId) return;
    if (packet.buffer[packet.offset] !== ERROR) throw malformed('a packet out of order');
    // A server that ends a session sends a packet with a number out of order.
    packet.sequenceId = library.sequenceId;
  }

  function countWarnings({ buffer, offset, end: packetEnd }: Packet): void {
    if (buffer[offset] === END && packetEnd - offset <= END_BYTES) warnings = buffer.readUInt16LE(offset + 1);
  }

  function checkAfter({ offset, end: packetEnd }: Packet, command: Command | undefined): void {
    if (library.authorized && offset > packetEnd)
      throw malformed('a packet that is shorter than what it holds');
    const { _fieldCount: columns, _resultIndex: results } = command ?? {};
    if (columns === null) throw malformed('a request for a file of this machine');
    if (columns !== undefined && columns > MOST_COLUMNS) throw malformed(`a result of ${columns} columns`);
    if (results !== undefined && results > 0) throw malformed('several results of one statement');
  }

  library.handlePacket = (packet) => {
    if (isBroken) return;
    try {
      if (packet !== undefined) {
        checkBefore(packet);
        countWarnings(packet);
      }
      const { stream, _command: command } = library;
      handle(packet);
      isUpgraded = library.stream !== stream;
      if (packet !== undefined) checkAfter(packet, command);
    } catch (error) {
      end(error);
    }
  };
  library.packetParser = {
    execute(chunk) {
      if (isBroken) return;
      try {
        lengths.check(chunk);
        isUpgraded = false;
        parser.execute(chunk);
        if (isUpgraded && !lengths.isBetweenPackets) throw malformed('bytes that are not encrypted');
        isUpgraded = false;
      } catch (error) {
        end(error);
      }
    },
  };
  return { lengths, warnings: () => warnings };
}

/** Undefined for an answer without rows. */
export type Columns = readonly { readonly columnType?: number | undefined }[] | undefined;

/** Call this with the columns of each result: the library takes quadratic time to parse a malformed geometry. */
export function checkColumns(columns: Columns): void {
  if (columns?.some(({ columnType }) => columnType === GEOMETRY) === true) throw malformed('a geometry');
}

export function malformed(what: string): DatabaseError {
  const advice = 'it does not answer as it should: check host, port and driver, and what is between';
  return new DatabaseError('unavailable', `the server has sent ${what}`, { advice });
}

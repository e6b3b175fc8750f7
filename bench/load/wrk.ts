import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findProgram, runProcess, temporaryFolder } from '@svc/testkit';

export interface Load {
  /** Without a path and without a trailing slash. */
  readonly url: string;
  readonly path: string;
  readonly connections: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bodies: readonly string[];
  /** Instead of the one path with its headers: others in turn, the first with the first body. */
  readonly targets?: readonly Target[];
  /** Which share of the answers may be failures, from 0 to 1; default 0. */
  readonly tolerated?: number;
}

export interface LoadResult {
  /** Those that succeeded. */
  readonly calls: number;
  readonly failed: number;
  /** Status and beginning of the first answer that was a failure; else empty. */
  readonly failure: string;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const MISSING = 'cannot make load: wrk is not installed; install it (Debian: apt-get install wrk)';

/** Why no load can be made on this machine; undefined when it can. A benchmark ends with code 2 then. */
export function whyNoLoad(): string | undefined {
  return findProgram('wrk') === undefined ? MISSING : undefined;
}

/**
 * Posts for so many whole seconds, from one thread of `wrk`. Rejects when there is no wrk, or when any answer
 * is not a success: by its status, by an `error` or a true `isError` in its body, or by not coming within 10 s.
 * Failures of the first two kinds are only counted while they are no more than `tolerated`.
 */
export async function load(
  { url, path, connections, headers, bodies, targets = [{ path, headers }], tolerated = 0 }: Load,
  seconds: number,
): Promise<LoadResult> {
  const wrk = findProgram('wrk');
  if (wrk === undefined) throw new Error(MISSING);
  const folder = await temporaryFolder('load');
  try {
    const script = join(folder.path, 'load.lua');
    await writeFile(script, wrkScript({ targets, bodies }));
    const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', script, url];
    const { code, stdout, stderr } = await runProcess(wrk, args, { withinMs: (seconds + 30) * 1000 });
    const line = stdout.trimEnd().split('\n').at(-1) ?? '';
    if (code !== 0 || !line.startsWith('{')) {
      throw new Error(`cannot measure ${path}: wrk ended with ${code}\n${stdout}${stderr}`);
    }
    const summary: WrkSummary = JSON.parse(line);
    return judged(path, summary, tolerated);
  } finally {
    await folder.remove();
  }
}

function judged(path: string, summary: WrkSummary, tolerated: number): LoadResult {
  const { refused, firstRefused, non2xx, connect, read, write, timeout, requests } = summary;
  const failed = refused + non2xx;
  const calls = requests - failed;
  if (failed > tolerated * requests || connect + read + write + timeout > 0 || calls === 0) {
    const faults = JSON.stringify({ requests, refused, non2xx, connect, read, write, timeout });
    throw new Error(`cannot measure ${path}: not every answer was a success: ${faults}\n${firstRefused}`);
  }
  return {
    calls,
    failed,
    failure: firstRefused,
    seconds: summary.durationMicroseconds / 1e6,
    p50Ms: summary.p50Microseconds / 1000,
    p99Ms: summary.p99Microseconds / 1000,
  };
}

interface Target {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface WrkRequests {
  /** One at least; taken in turn, as are the bodies. */
  readonly targets: readonly Target[];
  readonly bodies: readonly string[];
}

/** What `wrkScript` has wrk print last, on a line of its own. */
interface WrkSummary {
  readonly requests: number;
  readonly durationMicroseconds: number;
  readonly p50Microseconds: number;
  readonly p99Microseconds: number;
  /** Answers that say in their body that they are an error. */
  readonly refused: number;
  /** The beginning of the first of them; else empty. */
  readonly firstRefused: string;
  readonly non2xx: number;
  readonly connect: number;
  readonly read: number;
  readonly write: number;
  readonly timeout: number;
}

/**
 * The Lua program for wrk: requests are put together once, before the first is sent. Every answer is looked
 * into, since MCP reports failures with status 200; that costs wrk about 1 us for a short answer and 6 us for
 * one of 10 kB, and the contestants nothing.
 */
function wrkScript({ targets, bodies }: WrkRequests): string {
  const fields = (headers: Target['headers']): string =>
    Object.entries(headers)
      .map(([name, value]) => `[${lua(name)}] = ${lua(value)}`)
      .join(', ');
  return `local threads = {}
local bodies = {
${bodies.map((body) => `  ${lua(body)},\n`).join('')}}
local targets = {
${targets.map(({ path, headers }) => `  { ${lua(path)}, { ${fields(headers)} } },\n`).join('')}}
local requests = {}
local turn = 0

function setup(thread) table.insert(threads, thread) end

function init()
  refused, other, first = 0, 0, ""
  for index, body in ipairs(bodies) do
    local target = targets[(index - 1) % #targets + 1]
    requests[index] = wrk.format("POST", target[1], target[2], body)
  end
end

function request()
  turn = turn % #requests + 1
  return requests[turn]
end

function response(status, _, body)
  if status < 200 or status > 299 then
    other = other + 1
  elseif body:find('"error":', 1, true) or body:find('"isError":true', 1, true) then
    refused = refused + 1
  else
    return
  end
  if first == "" then first = status .. " " .. body:sub(1, 500) end
end

function done(summary, latency)
  local refused, other, first = 0, 0, ""
  for _, thread in ipairs(threads) do
    refused = refused + thread:get("refused")
    other = other + thread:get("other")
    if first == "" then first = thread:get("first") end
  end
  first = first:gsub('[%c"\\\\\\128-\\255]', function(char) return string.format("\\\\u%04x", char:byte()) end)
  local errors = summary.errors
  io.write(string.format(
    '\\n{"requests":%d,"durationMicroseconds":%d,"p50Microseconds":%d,"p99Microseconds":%d,"refused":%d,' ..
    '"firstRefused":"%s","non2xx":%d,"connect":%d,"read":%d,"write":%d,"timeout":%d}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), refused, first,
    other, errors.connect, errors.read, errors.write, errors.timeout))
end
`;
}

/** A Lua string with these UTF-8 bytes. */
function lua(text: string): string {
  const bytes = [...Buffer.from(text)].map((byte) =>
    byte < 32 || byte > 126 || byte === 34 || byte === 92
      ? `\\${String(byte).padStart(3, '0')}`
      : String.fromCharCode(byte),
  );
  return `"${bytes.join('')}"`;
}

export interface Target {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface WrkRequests {
  /** One at least; taken in turn, as are the bodies. */
  readonly targets: readonly Target[];
  readonly bodies: readonly string[];
}

/** What `wrkScript` has wrk print last, on a line of its own. */
export interface WrkSummary {
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
  readonly cpuMicroseconds: number;
}

/**
 * The Lua program for wrk: requests are put together once, before the first is sent. Every answer is looked
 * into, since MCP reports failures with status 200; that costs wrk about 1 us for a short answer and 6 us for
 * one of 10 kB, and the contestants nothing.
 */
export function wrkScript({ targets, bodies }: WrkRequests): string {
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
    '"firstRefused":"%s","non2xx":%d,"connect":%d,"read":%d,"write":%d,"timeout":%d,"cpuMicroseconds":%d}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99), refused, first,
    other, errors.connect, errors.read, errors.write, errors.timeout, os.clock() * 1e6))
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

import { isAlias, isCollection, isMap, isScalar, isSeq, Scalar } from 'yaml';
import type { Pair, YAMLMap, YAMLSeq } from 'yaml';
import type { Position } from '../../capabilities/fault.ts';
import { compareDecimals, readDecimal } from '../../capabilities/values/decimal.ts';
import { composeYaml, MAX_YAML_DEPTH } from './compose-yaml.ts';
import type { FaultLog } from '../fault-log.ts';
import { interpolate } from './interpolate.ts';
import type { Path } from '../path.ts';

const FOLDED: ReadonlySet<unknown> = new Set([Scalar.BLOCK_FOLDED, Scalar.PLAIN]);
const MAX_NODES_FROM_ALIASES = 100_000;
const BEYOND_2_53 = 'must be between -9007199254740991 and 9007199254740991';
const INTEGER = /^[-+]?(?:\d+|0o[0-7]+|0x[0-9a-fA-F]+)$/;

interface Reading {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly faults: FaultLog;
  /** The source of a text whose lines YAML joins; undefined for any other. */
  readonly foldedOf: (node: unknown) => string | undefined;
  readonly positionOf: (node: unknown) => Position | undefined;
  readonly anchors: Map<string, unknown>;
  nodesFromAliases: number;
}

interface Spot {
  readonly path: Path;
  readonly key: Position;
  readonly depth: number;
  readonly inAlias: boolean;
}

/**
 * Reads one YAML 1.2 document into plain values, with `${NAME}` replaced in every string. Faults and the place of each value
 * go to `faults`. Returns undefined if the text is not YAML.
 */
export function readYaml(
  text: string,
  env: Readonly<Record<string, string | undefined>>,
  faults: FaultLog,
): { readonly root: unknown } | undefined {
  const { contents, faults: problems, toPosition } = composeYaml(text);
  for (const { position, message } of problems) faults.addAt(position, [], message);
  if (problems.length > 0) return undefined;

  const reading: Reading = {
    env,
    faults,
    foldedOf: (node) => {
      if (!isScalar(node) || !FOLDED.has(node.type) || !hasRange(node)) return undefined;
      const written = text.slice(node.range[0], node.range[1]);
      return written.includes('\n') ? written : undefined;
    },
    positionOf: (node) => (hasRange(node) ? toPosition(node.range[0]) : undefined),
    anchors: new Map(),
    nodesFromAliases: 0,
  };
  const start: Spot = { path: [], key: { line: 1, column: 1 }, depth: 0, inAlias: false };
  return { root: readNode(contents, start, reading) };
}

function readNode(node: unknown, spot: Spot, reading: Reading): unknown {
  const { path, key } = spot;
  const value = reading.positionOf(node) ?? key;
  reading.faults.place(path, { key, value, collection: isCollection(node), reference: false });
  if (spot.inAlias) reading.nodesFromAliases += 1;
  if (spot.depth > MAX_YAML_DEPTH || reading.nodesFromAliases > MAX_NODES_FROM_ALIASES) {
    reading.faults.addAt(value, [], 'the file is nested too deeply, or its aliases grow without end');
    return undefined;
  }
  if (isAlias(node)) {
    const target = reading.anchors.get(node.source);
    if (target === undefined) {
      const message = 'this alias names no anchor that stands before it; quote a text that begins with `*`';
      reading.faults.add(path, message);
      return undefined;
    }
    return readNode(target, { ...spot, depth: spot.depth + 1, inAlias: true }, reading);
  }
  if ((isScalar(node) || isCollection(node)) && node.anchor !== undefined)
    reading.anchors.set(node.anchor, node);
  if (isMap(node)) return readMap(node, spot, reading);
  if (isSeq(node)) return readList(node, spot, reading);
  return readScalar(node, spot, value, reading);
}

function readMap(map: YAMLMap, spot: Spot, reading: Reading): Record<string, unknown> {
  const record: Record<string, unknown> = Object.create(null);
  for (const pair of map.items) {
    const position = reading.positionOf(pair.key) ?? spot.key;
    const name = keyText(pair);
    const problem = keyProblem(name, record);
    if (name === undefined || problem !== undefined) {
      reading.faults.addAt(position, name === undefined ? spot.path : [...spot.path, name], problem ?? '');
      continue;
    }
    const path = [...spot.path, name];
    record[name] = readNode(pair.value, { ...spot, path, key: position, depth: spot.depth + 1 }, reading);
  }
  return record;
}

function readList(list: YAMLSeq, spot: Spot, reading: Reading): unknown[] {
  return list.items.map((item, index) => {
    const key = reading.positionOf(item) ?? spot.key;
    const path = [...spot.path, String(index)];
    return readNode(item, { ...spot, path, key, depth: spot.depth + 1 }, reading);
  });
}

function readScalar(node: unknown, spot: Spot, value: Position, reading: Reading): unknown {
  const { path, key } = spot;
  const scalar = isScalar(node) ? node.value : null;
  if (typeof scalar === 'number')
    return readNumber(scalar, (isScalar(node) && node.source) || String(scalar), path, reading);
  if (typeof scalar !== 'string') return scalar;
  const { text, replaced, whole, problems } = interpolate(scalar, reading.env);
  const folded = reading.foldedOf(node);
  reading.faults.place(path, {
    key,
    value,
    collection: false,
    reference: whole,
    ...(folded === undefined ? {} : { folded }),
    ...(replaced ? { written: scalar } : {}),
  });
  if (problems.length > 0) reading.faults.add(path, [...new Set(problems)].join('; '));
  if (text.includes('\0') || /\p{Surrogate}/u.test(text))
    reading.faults.add(path, 'must not hold the character U+0000 or half a surrogate pair');
  return text;
}

/** An integer that a double would round is a BigInt in calls of `svc-agent test`, and a fault elsewhere. */
function readNumber(number: number, source: string, path: Path, { faults }: Reading): number | bigint {
  if (!Number.isFinite(number)) faults.add(path, 'must be a finite number');
  const use = useOf(path);
  if (Math.abs(number) <= Number.MAX_SAFE_INTEGER || use === undefined) return number;
  const integer = INTEGER.test(source) ? BigInt(source.replace('+', '')) : undefined;
  if (integer !== undefined && use !== 'rule') return integer;
  const written = readDecimal(String(integer ?? source.replace('+', '')));
  const isKept = compareDecimals(written, readDecimal(String(number))) === 0;
  if (!isKept && use !== 'expected') faults.add(path, BEYOND_2_53);
  return number;
}

/** The use of a number beyond 2^53 in a capability; undefined if it has none. */
function useOf([capabilities, , section, , part, key]: Path): 'rule' | 'sent' | 'expected' | undefined {
  if (capabilities !== 'capabilities') return undefined;
  if (section === 'params') return 'rule';
  if (section !== 'examples') return undefined;
  if (part === 'params') return 'sent';
  return part === 'expect' && key === 'rows' ? 'expected' : undefined;
}

/** Keys are text: `true:` and `10:` are the names `true` and `10`. */
function keyText({ key }: Pair): string | undefined {
  if (!isScalar(key)) return undefined;
  return typeof key.value === 'string' ? key.value : (key.source ?? String(key.value));
}

function keyProblem(name: string | undefined, record: Record<string, unknown>): string | undefined {
  if (name === undefined) return 'a key must be plain text';
  if (name === '') return 'a key must not be empty';
  if (name === '__proto__') return 'this name cannot be used';
  return name in record ? 'this key stands twice: remove one of them' : undefined;
}

function hasRange(node: unknown): node is { readonly range: readonly [number, number, number] } {
  return typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range);
}

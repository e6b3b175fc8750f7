import { readFileSync } from 'node:fs';
import { readProblem } from '@svc/edge';
import type { Fault } from '../../capabilities/fault.ts';
import { askChildProcess } from '../../start-up/child-process.ts';
import type { OffersReport } from '../../start-up/report.ts';
import type { Contract } from '../contract.ts';
import { fetchOpenApi } from './fetch-openapi.ts';
import { contractOfOffer, readOpenApi } from './read-openapi.ts';

/** One operand of `diff`. */
export type Side =
  | { readonly kind: 'contract'; readonly contract: Contract }
  /** `isUnreachable`: a gateway could not be asked; otherwise the operand itself is wrong. */
  | { readonly kind: 'faults'; readonly faults: readonly Fault[]; readonly isUnreachable: boolean };

/** Many times the depth of what a gateway serves. */
const DEPTH_MAX = 200;
const NO_DESCRIPTION = 'is no OpenAPI description of capabilities: name the `/openapi.json` of a gateway';

/** Undefined for a file. */
export function urlOf(operand: string): URL | undefined {
  return /^https?:\/\//i.test(operand) && URL.canParse(operand) ? new URL(operand) : undefined;
}

/** Reads capability files, saved descriptions, and descriptions that gateways serve; one side for each operand. */
export async function readSides(operands: readonly string[], apiKey: string): Promise<readonly Side[]> {
  const sides = operands.map((operand) => urlOf(operand) ?? readFile(operand));
  const files = sides.filter((side) => 'content' in side);
  const offersOf = files.map(({ name, content }) => ({ file: name, content }));
  const report: OffersReport = files.length === 0 ? { offers: [] } : await askChildProcess({ offersOf });
  const read: Side[] = [];
  for (const side of sides) {
    if ('kind' in side) read.push(side);
    else if (side instanceof URL) read.push(await fetchSide(side, apiKey));
    else read.push(sideOf(report.offers[files.indexOf(side)]));
  }
  return read;
}

function readFile(name: string): { readonly name: string; readonly content: Uint8Array } | Side {
  let content: Uint8Array;
  try {
    content = readFileSync(name);
  } catch (error) {
    return refused(`cannot read the file: ${readProblem(error)}`);
  }
  const document = parseJson(content);
  // A capability file may be JSON.
  if (typeof document !== 'object' || document === null || !('openapi' in document)) return { name, content };
  return describedSide(document);
}

async function fetchSide(url: URL, apiKey: string): Promise<Side> {
  const fetched = await fetchOpenApi(url, apiKey);
  if ('problem' in fetched) return { ...refused(fetched.problem), isUnreachable: true };
  return describedSide(fetched.document);
}

function describedSide(document: unknown): Side {
  if (isTooDeep(document)) return refused('is nested too deeply for a description of capabilities');
  const contract = readOpenApi(document);
  return contract === undefined ? refused(NO_DESCRIPTION) : { kind: 'contract', contract };
}

function sideOf(outcome: OffersReport['offers'][number] | undefined): Side {
  if (outcome === undefined) throw new Error('the checks have left out a file');
  return 'faults' in outcome
    ? { kind: 'faults', faults: outcome.faults, isUnreachable: false }
    : { kind: 'contract', contract: contractOfOffer(outcome.offer) };
}

function refused(message: string): Side & { readonly kind: 'faults' } {
  return { kind: 'faults', faults: [{ path: '', message }], isUnreachable: false };
}

/** Reading and comparing recurse as deep as the document. */
function isTooDeep(document: unknown): boolean {
  let level: readonly unknown[] = [document];
  for (let depth = 0; depth <= DEPTH_MAX && level.length > 0; depth += 1) {
    level = level.flatMap((value) =>
      typeof value === 'object' && value !== null ? Object.values(value) : [],
    );
  }
  return level.length > 0;
}

function parseJson(content: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(content).toString()) as unknown;
  } catch {
    return undefined;
  }
}

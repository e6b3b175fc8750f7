import type { AbortSignalLike } from '@svc/edge';
import {
  agentErrorText,
  CALL_ERRORS,
  DEFAULT_SERVICE,
  isLinkErrorCode,
  joinPieces,
  LINK_ERRORS,
  type Metadata,
} from '@svc/protocol';
import type { AgentOutcome, AgentResult, CallableLink } from '../agents/callable-link.ts';
import { NOBODY, type Registry, type Tried } from '../agents/registry.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { CallError, CallerGone } from '../core/call-error.ts';
import type { Principal } from '../core/principal.ts';
import { createChooseAgent, isTooOld, type AgentChoice } from './choose-agent.ts';
import { nextPage } from './next-page.ts';
import type { AgentWait } from './wait-for-agent.ts';

export interface CapabilityCall {
  readonly capability: string;
  /** A well-formed JSON object, as the caller sent it. */
  readonly params: Uint8Array;
  readonly principal: Principal;
  readonly requestId: string;
  readonly traceparent: string | undefined;
  /** Aborted when the caller goes away. */
  readonly signal: AbortSignalLike;
}

/** What an agent answered, and how the caller continues when that was cut. */
export interface CallResult extends AgentResult {
  /** A JSON object of parameters; undefined when the capability has no paging. */
  readonly next?: string | undefined;
}

/** The caller has been found permitted already. Rejects with CallError, or CallerGone when the signal aborts. */
export type CallCapability = (call: CapabilityCall) => Promise<CallResult>;

type AgentFailure = Exclude<AgentOutcome, AgentResult>;

/** What happens to a call next. `answer` and `refuse` end it. */
type Step =
  | { readonly to: 'send'; readonly agent: CallableLink }
  /** Its last agent has left, and the next one may be about to come. If none comes, the call ends with `refusal`. */
  | { readonly to: 'wait'; readonly refusal: CallError }
  | { readonly to: 'answer'; readonly result: CallResult }
  | { readonly to: 'refuse'; readonly error: Error };

/** How much longer than the capability's own time the agent may take to answer. */
const ANSWER_GRACE_MS = 2000;
/** With less time left, no second agent is tried. */
const RETRY_MIN_MS = 100;

/**
 * Calls a capability, for REST and MCP alike. A call is sent to one agent at a time:
 *   - one that provably has not begun is offered to each other agent;
 *   - one whose link was lost before any answer is sent once more;
 *   - with `agentWait`, one whose last agent has just left waits for the next agent, once.
 */
export function createCallCapability(
  registry: Registry,
  catalog: Catalog,
  now: () => number,
  wallClock: () => number = Date.now,
  service: string = DEFAULT_SERVICE,
  agentWait?: AgentWait,
): CallCapability {
  const { choose, noteUnavailable } = createChooseAgent(registry, wallClock);

  return (call) =>
    new Promise<CallResult>((resolve, reject) => {
      const { capability, params, principal, signal } = call;
      if (signal.aborted) throw new CallerGone();
      const choice = choose(capability, principal, NOBODY);
      const lost = choice === 'offline' ? agentWait?.lostLately(capability) : undefined;
      const first = lost ?? firstAgent(choice, catalog, capability);
      const timeoutMs = first.capability(capability)?.timeout_ms ?? 0;
      const endsAt = now() + timeoutMs;
      let tried = NOBODY;
      let wasLost = false;
      let hasWaited = false;
      let cancel: () => void = () => {};
      const timer = setTimeout(() => {
        cancel();
        go({ to: 'refuse', error: new CallError('GATEWAY_AGENT_TIMEOUT') });
      }, timeoutMs + ANSWER_GRACE_MS);
      const onAbort = (): void => {
        cancel();
        go({ to: 'refuse', error: new CallerGone() });
      };
      signal.addEventListener('abort', onAbort);
      go(lost === undefined ? sendTo(first) : { to: 'wait', refusal: offline() });

      function go(step: Step): void {
        switch (step.to) {
          case 'send':
            send(step.agent);
            return;
          case 'wait':
            wait(step.refusal);
            return;
          default:
            clearTimeout(timer);
            signal.removeEventListener('abort', onAbort);
            if (step.to === 'answer') resolve(step.result);
            else reject(step.error);
        }
      }

      function sendTo(agent: CallableLink): Step {
        if (!isTooOld(principal, agent, wallClock)) return { to: 'send', agent };
        tried = withInstance(tried, agent);
        const another = choose(capability, principal, tried);
        if (typeof another !== 'string') return sendTo(another);
        return { to: 'refuse', error: principal.refuseAsTooOld() };
      }

      function send(agent: CallableLink): void {
        let isSettled = false;
        const remainingMs = Math.max(1, Math.min(timeoutMs, Math.floor(endsAt - now())));
        const metadata = metadataFor(call, agent, service);
        const stop = agent.call(
          { capability, params, timeoutMs: remainingMs, metadata, principal: principal.id },
          (outcome) => {
            isSettled = true;
            go(outcome.kind === 'result' ? answered(agent, outcome) : failed(agent, outcome));
          },
        );
        // An agent that was lost already settles within `call`, and the call may be with the next one by now.
        if (!isSettled) cancel = stop;
      }

      function answered(agent: CallableLink, result: AgentResult): Step {
        if (result.cursor !== undefined)
          return { to: 'answer', result: { ...result, next: JSON.stringify({ cursor: result.cursor }) } };
        const paging = result.truncated ? agent.capability(capability)?.paging : undefined;
        return { to: 'answer', result: paging === undefined ? result : withNext(result, paging) };
      }

      function failed(agent: CallableLink, failure: AgentFailure): Step {
        const isUnavailable = failure.kind === 'error' && failure.code === 'AGENT_DATABASE_UNAVAILABLE';
        if (isUnavailable) noteUnavailable(agent, capability);
        if (msToRetry() < 0 || !mayRetry(failure, wasLost))
          return { to: 'refuse', error: asCallError(failure) };
        const elsewhere = withInstance(tried, agent);
        let another = choose(capability, principal, elsewhere, isUnavailable);
        if (failure.kind === 'lost') {
          wasLost = true;
          tried = { ...tried, links: [...tried.links, agent] };
          // If there is no other agent, this one may still be reached over another link.
          if (typeof another === 'string') another = choose(capability, principal, tried);
        } else tried = elsewhere;
        if (typeof another !== 'string') return sendTo(another);
        const mayWait = another === 'offline' && hasLeft(failure) && !hasWaited;
        return mayWait
          ? { to: 'wait', refusal: asCallError(failure) }
          : { to: 'refuse', error: asCallError(failure) };
      }

      function wait(refusal: CallError): void {
        hasWaited = true;
        if (agentWait?.lostLately(capability) === undefined) go({ to: 'refuse', error: refusal });
        else cancel = agentWait.wait(call, msToRetry(), (came) => go(waited(came, refusal)));
      }

      function waited(came: boolean, refusal: CallError): Step {
        const agent = came ? choose(capability, principal, tried) : 'offline';
        if (typeof agent !== 'string') return sendTo(agent);
        return { to: 'refuse', error: agent === 'busy' ? new CallError('AGENT_BUSY') : refusal };
      }

      function msToRetry(): number {
        return endsAt - RETRY_MIN_MS - now();
      }
    });
}

/** Throws CallError. */
function firstAgent(choice: AgentChoice, catalog: Catalog, capability: string): CallableLink {
  switch (choice) {
    case 'offline':
      // Before the first agent has connected, it is not known which capabilities exist.
      if (catalog.description === undefined || catalog.knows(capability)) throw offline();
      throw new CallError('GATEWAY_CAPABILITY_NOT_FOUND');
    case 'outdated':
      throw new CallError(
        'GATEWAY_AGENT_OFFLINE',
        'no agent is connected that takes calls with access tokens; those that have the capability are to be updated',
      );
    case 'busy':
      throw new CallError('AGENT_BUSY');
    default:
      return choice;
  }
}

function withInstance({ instances, links }: Tried, { instanceId }: CallableLink): Tried {
  return { instances: [...instances, instanceId], links };
}

/** What an agent is told of a call beside its parameters. At version 1 it knows keys by their names, and gets no calls of tokens. */
function metadataFor(
  { requestId, traceparent, principal }: CapabilityCall,
  { protocolVersion, identity }: CallableLink,
  service: string,
): Metadata {
  const metadata: Record<string, string> =
    principal.kind === 'token'
      ? {
          request_id: requestId,
          principal: principal.id,
          issuer: principal.issuer,
          subject: principal.subject,
        }
      : { request_id: requestId, api_key_name: principal.name };
  if (traceparent !== undefined) metadata['traceparent'] = traceparent;
  if (protocolVersion === 1) return metadata;
  if (service !== DEFAULT_SERVICE) metadata['service'] = service;
  if (principal.claimsJson !== '') metadata['claims'] = principal.claimsJson;
  if (principal.kind === 'api_key') {
    metadata['principal'] = principal.id;
    return metadata;
  }
  if (principal.clientId !== '') metadata['client_id'] = principal.clientId;
  if (identity === 'token') metadata['token'] = principal.token;
  return metadata;
}

/** Joins the rows here, so that APIs need not join them again. */
function withNext(result: AgentResult, paging: Readonly<Record<string, string>>): CallResult {
  const rows = joinPieces(result.rows);
  return { ...result, rows: [rows], next: nextPage(rows, paging) };
}

/** Other agents are not asked when one has refused the parameters or the caller, which are faults of the caller (4xx). */
function mayRetry(failure: AgentFailure, wasLost: boolean): boolean {
  if (failure.kind === 'lost') return !failure.answerBegun && !wasLost;
  const isOfCaller = !isLinkErrorCode(failure.code) && CALL_ERRORS[failure.code].status < 500;
  return failure.notStarted && !isOfCaller;
}

/** Whether the agent is gone, or about to go, so that another one may be about to come in its place. */
function hasLeft(failure: AgentFailure): boolean {
  return failure.kind === 'lost' || failure.code === 'AGENT_DRAINING';
}

function offline(): CallError {
  return new CallError('GATEWAY_AGENT_OFFLINE');
}

/** Control characters, line separators, and those that change the direction of the text around them. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/**
 * In the gateway's own words: those of an agent in wrong hands could be anything. Only refused parameters need the
 * agent's words, since it alone knows which and why; the link bounds their length.
 */
function asCallError(failure: AgentFailure): CallError {
  if (failure.kind === 'lost') return offline();
  const { code, message, notStarted } = failure;
  if (isLinkErrorCode(code)) return new CallError(LINK_ERRORS[code].callersGet);
  const text =
    code === 'AGENT_INVALID_PARAMS' ? message.replace(UNPRINTABLE, '') : agentErrorText(code, notStarted);
  return new CallError(code, text);
}

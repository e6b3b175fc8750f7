import type { AbortSignalLike } from '@svc/edge';
import { DEFAULT_SERVICE, joinPieces } from '@svc/protocol';
import { NOBODY, type Registry, type Tried } from '../agents/registry.ts';
import type { CallableLink, AgentOutcome, AgentResult } from '../agents/callable-link.ts';
import type { Catalog } from '../catalog/catalog.ts';
import type { Principal, TokenPrincipal } from '../core/principal.ts';
import { CallError, CallerGone } from '../core/call-error.ts';
import { metadataFor } from './metadata.ts';
import { agentErrorMessage } from './agent-error-message.ts';
import { nextPage } from './next-page.ts';
import { createUnavailableDatabases, type UnavailableDatabases } from './unavailable-databases.ts';
import type { AgentWait } from './wait-for-agent.ts';

export interface CapabilityCall {
  readonly capability: string;
  /** JSON object, as the caller sent it; already known to be well formed. */
  readonly params: Uint8Array;
  readonly principal: Principal;
  readonly requestId: string;
  readonly traceparent: string | undefined;
  /** Aborted when the caller goes away. */
  readonly signal: AbortSignalLike;
}

const REFUSED: ReadonlySet<string> = new Set(['AGENT_INVALID_PARAMS', 'AGENT_PRINCIPAL_REFUSED']);

/** What an agent answered, and how the caller goes on where that was cut. */
export interface CallResult extends AgentResult {
  /** JSON object of parameters; undefined where the capability has no paging. */
  readonly next?: string | undefined;
}

export type CallCapability = (call: CapabilityCall) => Promise<CallResult>;

/** How much longer than the capability's own time the agent may take to answer. */
const ANSWER_GRACE_MS = 2000;
/** Less is not worth a second try. */
const RETRY_MIN_MS = 100;

/**
 * Calls a capability, for REST and MCP alike: picks an agent, keeps the deadline, and sends a call whose link was lost
 * before any answer once more, to another agent where there is one. With `agentWait` a call whose last agent has just been
 * lost waits for the next one, once. One whose database is not available at an agent is offered to each other agent that
 * has not answered so before. The caller has been found permitted already.
 * Throws CallError, or CallerGone when the signal aborts.
 */
export function createCallCapability(
  registry: Registry,
  catalog: Catalog,
  now: () => number,
  wallClock: () => number = Date.now,
  service: string = DEFAULT_SERVICE,
  agentWait?: AgentWait,
): CallCapability {
  const unavailable = createUnavailableDatabases();
  const chooseAgent = createChooseAgent(registry, unavailable, wallClock);
  return (call) =>
    new Promise<CallResult>((resolve, reject) => {
      if (call.signal.aborted) {
        reject(new CallerGone());
        return;
      }
      let tried = NOBODY;
      const choice = chooseAgent(call, tried);
      const lost = choice === 'offline' ? agentWait?.lostLately(call.capability) : undefined;
      const first = lost ?? firstAgent(choice, catalog, call.capability);
      const timeoutMs = first.capability(call.capability)?.timeout_ms ?? 0;
      const deadline = now() + timeoutMs + ANSWER_GRACE_MS;
      let current = first;
      let retried = false;
      let waited = false;
      let cancel: () => void = () => {};
      const timer = setTimeout(() => {
        cancel();
        finish(() => reject(new CallError('GATEWAY_AGENT_TIMEOUT', 'the agent did not answer in time')));
      }, timeoutMs + ANSWER_GRACE_MS);
      const onAbort = (): void => {
        cancel();
        finish(() => reject(new CallerGone()));
      };

      function finish(settle: () => void): void {
        clearTimeout(timer);
        call.signal.removeEventListener('abort', onAbort);
        settle();
      }

      function send(agent: CallableLink): void {
        current = agent;
        const { principal } = call;
        if (isTooOld(principal, agent, wallClock)) {
          tried = withInstance(tried, agent);
          const another = chooseAgent(call, tried);
          if (typeof another === 'string') finish(() => reject(principal.refuseAsTooOld()));
          else send(another);
          return;
        }
        const remainingMs = Math.min(timeoutMs, Math.floor(deadline - ANSWER_GRACE_MS - now()));
        const { capability, params } = call;
        const stop = agent.call(
          {
            capability,
            params,
            timeoutMs: Math.max(1, remainingMs),
            metadata: metadataFor(call, agent, service),
            principal: call.principal.id,
          },
          onOutcome,
        );
        // An agent that was lost already settles at once, and the call may be with the next one by now.
        if (current === agent) cancel = stop;
      }

      function onOutcome(outcome: AgentOutcome): void {
        if (outcome.kind === 'result') {
          const paging = outcome.truncated ? current.capability(call.capability)?.paging : undefined;
          finish(() => resolve(paging === undefined ? outcome : withNext(outcome, paging)));
          return;
        }
        const mayGoOn = timeLeft() >= 0 && mayRetry(outcome, retried);
        const isUnavailable = outcome.kind === 'error' && outcome.code === 'AGENT_DATABASE_UNAVAILABLE';
        if (isUnavailable) unavailable.add(current, call.capability);
        const another = mayGoOn ? chooseAnother(outcome.kind, isUnavailable) : 'offline';
        if (outcome.kind === 'lost') retried = true;
        if (typeof another !== 'string') send(another);
        else if (mayGoOn && another === 'offline' && hasLeft(outcome) && !waited) {
          waitForAgent(() => asCallError(outcome));
        } else finish(() => reject(asCallError(outcome)));
      }

      function timeLeft(): number {
        return deadline - ANSWER_GRACE_MS - RETRY_MIN_MS - now();
      }

      function waitForAgent(refusal: () => CallError): void {
        waited = true;
        const goOn = (came: boolean): void => {
          const agent = came ? chooseAgent(call, tried) : 'offline';
          if (typeof agent !== 'string') send(agent);
          else finish(() => reject(agent === 'busy' ? busy() : refusal()));
        };
        if (agentWait?.lostLately(call.capability) === undefined) goOn(false);
        else cancel = agentWait.wait(call, timeLeft(), goOn);
      }

      /** Another process of an agent. One that was lost may still be reached over another link, where there is none else. */
      function chooseAnother(after: 'error' | 'lost', isUnavailable: boolean): AgentChoice {
        const elsewhere = withInstance(tried, current);
        const another = chooseAgent(call, elsewhere, isUnavailable);
        tried = after === 'lost' ? { ...tried, links: [...tried.links, current] } : elsewhere;
        if (after === 'error' || typeof another !== 'string') return another;
        return chooseAgent(call, tried);
      }

      call.signal.addEventListener('abort', onAbort);
      if (lost === undefined) send(first);
      else waitForAgent(offline);
    });
}

/** Joins the rows, so that whoever quotes them later need not. */
function withNext(result: AgentResult, paging: Readonly<Record<string, string>>): CallResult {
  const rows = joinPieces(result.rows);
  return { ...result, rows: [rows], next: nextPage(rows, paging) };
}

/** Whether the agent is gone, or about to go, so that another one may be about to come in its place. */
function hasLeft(outcome: Exclude<AgentOutcome, AgentResult>): boolean {
  return outcome.kind === 'lost' || outcome.code === 'AGENT_DRAINING';
}

/**
 * A call that provably never started may move on freely, one that was lost only once. What one agent refuses of the
 * parameters or of who calls is not offered to every other.
 */
function mayRetry(outcome: AgentOutcome, retried: boolean): boolean {
  if (outcome.kind === 'lost') return !outcome.answerBegun && !retried;
  return outcome.kind === 'error' && outcome.notStarted && !REFUSED.has(outcome.code);
}

/** Whether the agent would refuse the token for its age; a new one may help, so its bearer is told before it is sent. */
function isTooOld(
  principal: Principal,
  { maxTokenAge }: CallableLink,
  wallClock: () => number,
): principal is TokenPrincipal {
  if (maxTokenAge === undefined || principal.kind !== 'token') return false;
  return principal.issuedAt === undefined || wallClock() / 1000 - principal.issuedAt > maxTokenAge;
}

type AgentChoice = ReturnType<Registry['choose']>;

function withInstance({ instances, links }: Tried, { instanceId }: CallableLink): Tried {
  return { instances: [...instances, instanceId], links };
}

type ChooseAgent = (call: CapabilityCall, tried: Tried, onlyAvailable?: boolean) => AgentChoice;

/** Agents that lately answered that the database is not available are asked again only where no other has the capability. */
function createChooseAgent(
  registry: Registry,
  unavailable: UnavailableDatabases,
  wallClock: () => number,
): ChooseAgent {
  return (call, tried, onlyAvailable = false) => {
    const { capability, principal } = call;
    const leastVersion = principal.kind === 'token' ? 2 : 1;
    if (!unavailable.isEmpty) {
      const isAvoided = (link: CallableLink): boolean => unavailable.has(link, capability);
      const choice = registry.choose(capability, tried, leastVersion, isAvoided);
      if (onlyAvailable || typeof choice !== 'string') return choice;
    }
    const choice = registry.choose(capability, tried, leastVersion);
    if (choice !== 'busy') return choice;
    // A call that the agent would refuse takes no place from another.
    const maySend = (agent: CallableLink): boolean =>
      agent.protocolVersion >= leastVersion && !isTooOld(principal, agent, wallClock);
    return registry.makePlace(capability, tried, principal.id, maySend) ?? choice;
  };
}

function firstAgent(choice: AgentChoice, catalog: Catalog, capability: string): CallableLink {
  switch (choice) {
    case 'offline':
      // Before the first agent has connected, it is not known which capabilities exist.
      if (catalog.description === undefined || catalog.knows(capability)) {
        throw offline();
      }
      throw new CallError('GATEWAY_CAPABILITY_NOT_FOUND', 'no such capability');
    case 'outdated':
      throw new CallError(
        'GATEWAY_AGENT_OFFLINE',
        'no agent is connected that takes calls with access tokens; those that have the capability are to be updated',
      );
    case 'busy':
      throw busy();
    default:
      return choice;
  }
}

function offline(): CallError {
  return new CallError('GATEWAY_AGENT_OFFLINE', 'agent is not connected');
}

function busy(): CallError {
  return new CallError('AGENT_BUSY', 'the agent has as many calls as it takes, try again shortly');
}

function asCallError(outcome: Exclude<AgentOutcome, AgentResult>): CallError {
  if (outcome.kind === 'lost') return offline();
  switch (outcome.code) {
    case 'AGENT_UNKNOWN_CAPABILITY':
      return new CallError('GATEWAY_CAPABILITY_NOT_FOUND', 'no such capability');
    case 'AGENT_CANCELLED':
    case 'AGENT_DRAINING':
      return offline();
    default:
      return new CallError(outcome.code, agentErrorMessage({ ...outcome, code: outcome.code }));
  }
}

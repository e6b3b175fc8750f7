import type { AbortSignalLike } from '@svc/edge';
import { CAPABILITY_NAME_PATTERN } from '@svc/protocol';
import type { CallSlots } from '../access/call-slots.ts';
import { CallError } from '../core/call-error.ts';
import type { CallCapability, CallResult } from './call-capability.ts';
import { permits } from '../core/permission.ts';
import type { Principal } from '../core/principal.ts';

export interface Caller {
  readonly principal: Principal;
  readonly requestId: string;
  /** Candidates for the caller's trace: the first that is well formed counts. */
  readonly traceparents: readonly unknown[];
  /** Aborted when the caller goes away. */
  readonly signal: AbortSignalLike;
  /** Gets the capability's name when it has the form of one. */
  readonly log: { capability: string };
}

/** `params` is a well-formed JSON object. */
type PermittedCall = (params: Uint8Array) => Promise<CallResult>;

export type PermitCall = (caller: Caller, capability: string) => PermittedCall;

const CAPABILITY_NAME = new RegExp(CAPABILITY_NAME_PATTERN);
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

function isTraceparent(value: unknown): value is string {
  return typeof value === 'string' && TRACEPARENT.test(value);
}

/** For REST and MCP. Throws GATEWAY_CAPABILITY_NOT_PERMITTED before anything else of the call is looked at. */
export function createPermitCall(callCapability: CallCapability): PermitCall {
  return ({ principal, requestId, traceparents, signal, log }, capability) => {
    if (CAPABILITY_NAME.test(capability)) log.capability = capability;
    if (!permits(principal.permissions, capability)) {
      const credential = principal.kind === 'token' ? 'access token' : 'API key';
      throw new CallError(
        'GATEWAY_CAPABILITY_NOT_PERMITTED',
        `the ${credential} may not call this capability`,
      );
    }
    return (params) =>
      callCapability({
        capability,
        params,
        principal,
        requestId,
        traceparent: traceparents.find(isTraceparent),
        signal,
      });
  };
}

/** Refuses calls of a principal that has no slot left (GATEWAY_RATE_LIMITED). */
export function limitConcurrentCalls(slots: CallSlots, callCapability: CallCapability): CallCapability {
  return async (call) => {
    const { id } = call.principal;
    const taken = slots.take(id);
    if (!(taken instanceof Promise ? await taken : taken)) {
      const message = 'too many calls of this caller are under way, wait for one';
      throw new CallError('GATEWAY_RATE_LIMITED', message);
    }
    try {
      return await callCapability(call);
    } finally {
      slots.free(id);
    }
  };
}

import type { Capability } from '../../capabilities/model.ts';
import { describeCapabilities } from '../../capabilities/openapi/describe-capabilities.ts';
import type { Offer } from '../../config/load.ts';
import type { CapabilityTerms, Contract } from '../contract.ts';
import { readOpenApi } from './read-openapi.ts';

/** Reads a capability file as callers see it once it is served. Hidden capabilities are included: they can be called. */
export function contractOfOffer(offer: Omit<Offer, 'drivers'>): Contract {
  const { service, serviceId, capabilities, identity } = offer;
  const { openapi } = describeCapabilities({
    service,
    capabilities: capabilities.map((capability) => ({ ...capability, exposeInOpenapi: true })),
    ...(identity === undefined ? {} : { identity: {} }),
  });
  const contract = readOpenApi(openapi);
  if (contract === undefined) throw new Error('the description of the capabilities is no OpenAPI document');
  return {
    ...contract,
    capabilities: new Map(
      capabilities.flatMap((capability) => {
        const described = contract.capabilities.get(capability.name);
        return described === undefined
          ? []
          : [[capability.name, { ...described, file: termsOf(capability) }] as const];
      }),
    ),
    file: { ...(serviceId === undefined ? {} : { serviceId }), identity },
  };
}

function termsOf(capability: Capability): CapabilityTerms {
  const { limits, exposeInOpenapi, params, sql, allowFunctions, allowForeignTables } = capability;
  const needs = [...new Set(params.flatMap(({ from }) => from ?? []))];
  return { isHidden: !exposeInOpenapi, ...limits, needs, sql, allowFunctions, allowForeignTables };
}

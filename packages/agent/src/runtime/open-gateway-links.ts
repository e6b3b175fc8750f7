import { agentKeyId, privateKeyFromSeed, rawPublicKey } from '@svc/protocol';
import type { AgentLinks } from '../calls/link-offer.ts';
import { openAllLinks } from '../gateway-link/gateway-links.ts';
import type { Place } from '../gateway-link/link-slots.ts';
import type { LinkPlace } from '../telemetry/events.ts';
import type { LinkedAgent } from './open-links.ts';

/** Dials the gateways that the capability file names. */
export function openGatewayLinks({
  config: { gateway, identity, serviceId },
  instanceId,
  offer,
  databases,
  findProxy,
  observe,
}: LinkedAgent): AgentLinks {
  const privateKey = privateKeyFromSeed(gateway.privateKeySeed);
  const links = openAllLinks({
    urls: gateway.urls,
    maxLinks: gateway.maxLinks,
    resolveIntervalMs: gateway.resolveIntervalMs,
    ca: gateway.ca,
    findProxy,
    identity: {
      instanceId,
      keyId: agentKeyId(rawPublicKey(privateKey)),
      privateKey,
      maxInflight: offer.maxInflight,
      hasPages: offer.hasPages,
      manifestSha256: offer.manifestSha256,
      trust: identity?.trust,
      ...(serviceId === undefined ? {} : { service: serviceId }),
    },
    handle: offer.handle,
    databases,
    onConnected: (url, { connId, place }) => {
      observe({ event: 'connected', gateway: url, conn_id: connId, ...placeFields(place) });
    },
    onLost: (url, { reason, left, connId, place }, retryInMs) => {
      observe({
        event: 'disconnected',
        gateway: url,
        reason,
        ...(connId === undefined ? {} : { conn_id: connId }),
        ...(left ? { planned: true } : {}),
        ...(retryInMs === undefined ? {} : { retry_in_ms: retryInMs }),
        ...placeFields(place),
      });
    },
    onShort: (url, { reason, links: held, wanted }) => {
      observe({ event: 'links_short', gateway: url, reason, links: held, links_wanted: wanted });
    },
    random: Math.random,
  });
  return {
    counts: links,
    renew: (next) => links.renew(next),
    databasesChanged: () => links.databasesChanged(),
    stop: () => links.stop(),
  };
}

function placeFields(place: Place | undefined): LinkPlace {
  return place === undefined ? {} : { replica_id: place.replicaId, worker: place.worker };
}

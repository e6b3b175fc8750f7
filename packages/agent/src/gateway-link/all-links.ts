import type { LinkLoad } from './call-session.ts';
import {
  DIAL_OUTCOMES,
  openGatewayLinks,
  type DialOutcome,
  type GatewayLinks,
  type GatewayLinksOptions,
} from './gateway-links.ts';
import type { LinksShort } from './link-keeper.ts';

/** The links to all gateways of the capability file. */
export interface AllLinks extends GatewayLinks {
  /** How often there was each outcome. */
  readonly dials: ReadonlyMap<DialOutcome, number>;
}

export interface AllLinksOptions extends Omit<
  GatewayLinksOptions,
  'url' | 'loads' | 'onDialled' | 'onShort'
> {
  /** Each of another gateway. */
  readonly urls: readonly string[];
  /** To all of them together; each may have as many as the others. */
  readonly maxLinks: number;
  readonly onShort: (url: string, short: LinksShort) => void;
}

export function openAllLinks({ urls, maxLinks, onShort, ...options }: AllLinksOptions): AllLinks {
  const dials = new Map<DialOutcome, number>(DIAL_OUTCOMES.map((outcome) => [outcome, 0]));
  const loads = new Set<LinkLoad>();
  const gateways = urls.map((url) =>
    openGatewayLinks({
      ...options,
      url,
      maxLinks: Math.floor(maxLinks / urls.length),
      loads,
      onDialled: (outcome) => void dials.set(outcome, (dials.get(outcome) ?? 0) + 1),
      onShort: (short) => onShort(url, short),
    }),
  );
  const sum = (of: (gateway: GatewayLinks) => number): number =>
    gateways.reduce((total, gateway) => total + of(gateway), 0);
  return {
    dials,
    get held() {
      return sum(({ held }) => held);
    },
    get wanted() {
      return sum(({ wanted }) => wanted);
    },
    renew(offer) {
      const renewals = gateways.map((gateway) => gateway.renew(offer));
      return {
        over: Promise.all(renewals.map(({ over }) => over)).then(() => {}),
        async renewed(withinMs) {
          const all = await Promise.all(renewals.map((renewal) => renewal.renewed(withinMs)));
          return {
            replaced: all.reduce((total, { replaced }) => total + replaced, 0),
            waiting: all.reduce((total, { waiting }) => total + waiting, 0),
          };
        },
      };
    },
    databasesChanged() {
      for (const gateway of gateways) gateway.databasesChanged();
    },
    async stop() {
      await Promise.all(gateways.map((gateway) => gateway.stop()));
    },
  };
}

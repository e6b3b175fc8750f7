import { AGENTS_AND_DATABASE } from './agents-and-database.ts';
import { renderDashboard } from './dashboard.ts';
import { GATEWAY_AND_CALLERS } from './gateway-and-callers.ts';

/** What is in the files under ops/dashboards/. */
export const DASHBOARDS: Readonly<Record<string, string>> = {
  'ops/dashboards/gateway-and-callers.json': renderDashboard(GATEWAY_AND_CALLERS),
  'ops/dashboards/agents-and-database.json': renderDashboard(AGENTS_AND_DATABASE),
};

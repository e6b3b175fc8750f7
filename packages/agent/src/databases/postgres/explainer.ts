import type { Explainer } from '../driver/driver.ts';
import type { PostgresConfig } from './config/config.ts';
import { connect } from './connect.ts';
import { createExplain } from './explain/explain-query.ts';

export const explainer: Explainer = {
  connect(config: PostgresConfig) {
    return connect(config, () => {}, createExplain);
  },
};

import type { Explainer } from '../driver/driver.ts';
import type { PostgresConfig } from './config/config.ts';
import { connectWith } from './connect.ts';
import { createExplain } from './explain/explain-query.ts';

export const explainer: Explainer = {
  connect(config: PostgresConfig) {
    return connectWith(config, () => {}, createExplain);
  },
};

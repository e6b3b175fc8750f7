import type { Explainer } from '../../driver.ts';
import type { PostgresConfig } from '../config.ts';
import { connectWith } from '../connect.ts';
import { createExplain } from './explain-query.ts';

export const explainer: Explainer = {
  connect(config: PostgresConfig) {
    return connectWith(config, () => {}, createExplain);
  },
};

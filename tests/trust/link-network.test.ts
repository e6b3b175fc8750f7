import { NETWORK_FAULTS } from './link-network.testing.ts';
import { testLinkFaults } from './link-short-forms.testing.ts';

testLinkFaults(NETWORK_FAULTS);

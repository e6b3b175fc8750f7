import { LOSS_FAULTS } from './link-losses.testing.ts';
import { testLinkFaults } from './link-short-forms.testing.ts';

testLinkFaults(LOSS_FAULTS);

import { testLinkFaults } from './link-short-forms.testing.ts';
import { STRANGER_FAULTS } from './link-strangers.testing.ts';

testLinkFaults(STRANGER_FAULTS);

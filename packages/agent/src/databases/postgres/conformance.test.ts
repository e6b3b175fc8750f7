import { describeDriver } from '../conformance/describe-driver.testing.ts';
import { dialectOf } from './conformance.fixture.ts';

describeDriver('postgres', dialectOf());

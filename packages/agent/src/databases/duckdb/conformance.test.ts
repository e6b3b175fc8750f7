import { describeDriver } from '../conformance/describe-driver.testing.ts';
import { dialect } from './conformance.fixture.ts';

describeDriver('duckdb', dialect);

import { runVerifierWorker } from './auth/api-keys/verifier-worker.ts';

// What a verifying thread runs; bundled apart, since whatever it loads it keeps beside the main thread's.
runVerifierWorker();

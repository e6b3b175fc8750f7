import { engineCodeOf } from '../engine-process/engine-code.testing.ts';

/** The build writes the code of the engine process into the executable under this name. */
const entry = new URL('./engine-child.ts', import.meta.url);
const { text } = await engineCodeOf('internal-duckdb', entry);
Object.assign(globalThis, { SVC_DUCKDB: text });

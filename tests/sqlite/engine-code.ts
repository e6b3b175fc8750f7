import { engineCodeOf } from '../../packages/agent/src/databases/engine-process/engine-code.testing.ts';

/** The build writes the code of the engine process into the executable under this name. */
const entry = new URL('../../packages/agent/src/databases/sqlite/engine-child.ts', import.meta.url);
const { text } = await engineCodeOf('internal-sqlite', entry);
Object.assign(globalThis, { SVC_SQLITE: text });

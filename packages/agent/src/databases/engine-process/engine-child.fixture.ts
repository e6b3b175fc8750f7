import { writeSync } from 'node:fs';
import { ASK } from './engine-questions.fixture.ts';
import { endWithParent, serveEngine } from './serve-engine.ts';

const hogged: Buffer[] = [];
const waiting = new Map<number, () => void>();
endWithParent();
serveEngine(({ id, kind, body, answer }) => {
  switch (kind) {
    case ASK.echo:
      return answer(ASK.echo, body);
    case ASK.hog:
      for (;;) hogged.push(Buffer.alloc(1_000_000, 1));
    case ASK.spin:
      for (;;);
    case ASK.exit:
      throw new Error('the fixture ends');
    case ASK.raw:
      writeSync(3, body);
      return;
    case ASK.never:
      waiting.set(id, () => answer(ASK.never, body));
      return;
    case ASK.interrupt:
      return waiting.get(id)?.();
    default:
  }
});

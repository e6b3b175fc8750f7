import type { AbortSignalLike } from '@svc/edge';
import { openEngineSession, type EngineSession } from '../../engine-process/engine-session.ts';
import { problemOfFile } from '../../engine-process/problem-of-file.ts';
import { DatabaseError } from '../../driver/errors.ts';
import type { SqliteConfig } from '../config/config.ts';
import type { OpenQuestion } from '../engine/questions.ts';
import { engineCode } from './engine-code.ts';
import { problemOfNode } from './node-version.ts';

/** Opens the database in a process of its own. Throws `DatabaseError`. */
export async function openSession(
  config: SqliteConfig,
  signal: AbortSignalLike,
  more: Pick<OpenQuestion, 'readsSchema'> = {},
): Promise<EngineSession> {
  const problem = problemOfNode() ?? (await problemOfFile(config.file));
  if (problem !== undefined) throw new DatabaseError('unavailable', problem, { advice: problem });
  const question: OpenQuestion = { file: config.file, isImmutable: config.isImmutable, ...more };
  return openEngineSession({ code: engineCode(), memoryBytes: config.memoryBytes }, question, signal);
}

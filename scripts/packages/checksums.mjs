import { createHash } from 'node:crypto';
import { createReadStream, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Writes SHA256SUMS for the files, and resolves to each with its size and digest. */
export async function writeChecksums(out, files) {
  const made = [];
  for (const file of files) {
    const hash = createHash('sha256');
    for await (const piece of createReadStream(join(out, file))) hash.update(piece);
    made.push({ file, bytes: statSync(join(out, file)).size, sha256: hash.digest('hex') });
  }
  const lines = made.map(({ file, sha256 }) => `${sha256}  ${file}\n`).toSorted();
  writeFileSync(join(out, 'SHA256SUMS'), lines.join(''));
  return made;
}

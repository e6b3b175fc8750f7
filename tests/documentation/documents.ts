import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT: string = join(dirname(fileURLToPath(import.meta.url)), '../..');

export interface Block {
  /** Document and line, for messages. */
  readonly at: string;
  readonly language: string;
  /** What stands behind the language. */
  readonly mark: string;
  readonly text: string;
}

export interface Document {
  /** Relative to the repository. */
  readonly path: string;
  readonly text: string;
  readonly blocks: readonly Block[];
}

/** In a list a fence is indented, and so is its text. */
const FENCE = /^( *)```(\S*) ?(.*)\n([\s\S]*?)^\1```$/gm;

/** Everything under docs/, and README.md. */
export function readDocuments(): readonly Document[] {
  const paths = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name));
  return ['README.md', ...paths].map(readDocument);
}

/** The other documents in the root, whose examples no test runs. */
export function readPolicies(): readonly Document[] {
  return ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'PROTOCOL.md', 'SECURITY.md'].map(readDocument);
}

export function readDocument(path: string): Document {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const blocks = [...text.matchAll(FENCE)].map((match) => {
    const line = text.slice(0, match.index).split('\n').length;
    const [, indent = '', language = '', mark = '', content = ''] = match;
    const lines = content
      .split('\n')
      .map((text) => (text.startsWith(indent) ? text.slice(indent.length) : text));
    return { at: `${path}:${line}`, language, mark, text: lines.join('\n') };
  });
  return { path, text, blocks };
}

/** Without what stands in fences. */
export function proseOf({ text }: Document): string {
  return text.replace(FENCE, '');
}

/** The anchors of a document: of its headings, as GitHub makes them, and those it sets itself. */
export function anchorsOf(document: Document): ReadonlySet<string> {
  const prose = proseOf(document);
  const headings = [...prose.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
  const own = [...prose.matchAll(/<a id="([^"]+)">/g)].map(([, id = '']) => id);
  return new Set([...headings, ...own]);
}

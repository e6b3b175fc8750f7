import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFaultLog } from '../../config/fault-log.ts';
import { readYaml } from '../../config/yaml/read-yaml.ts';
import { yamlBlock, yamlText, yamlValue } from './capability-file.ts';

const anyText = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1 }),
  fc.constantFrom(
    'on',
    '1.0',
    '${HOME}',
    '$${HOME}',
    ' a',
    'a: b',
    '# c',
    "it's",
    '-',
    '- a',
    'a\nb',
    'a\r\nb',
  ),
);

function read(yaml: string): unknown {
  return readYaml(yaml, {}, createFaultLog())?.root;
}

test('text comes back as it was, as a key and as values', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      fc.pre(text !== '__proto__');
      const yaml = `a: { ${yamlText(text)}: ${yamlValue(text)} }\nb:${yamlBlock(text, '  ')}\n`;
      expect(read(yaml)).toEqual({ a: { [text]: text }, b: text });
    }),
  );
});

/** What YAML readers of either version would take for something other than text. */
const TAKEN =
  /^(?:y|yes|n|no|true|false|on|off|null|~|nan|inf|[-+]?[0-9.][0-9._]*(?:e[-+]?[0-9]+)?|0[xob][0-9a-f_]+)$/i;
const PLAIN = /^[A-Za-z_][A-Za-z0-9_-]*$/;
/** What does not stand in a YAML text as it is. */
const UNSEEN = /[\u007f-\u009f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]/g;

/** A key or value as it stands in a flow mapping as well. */
export function yamlText(text: string): string {
  if (PLAIN.test(text) && !TAKEN.test(text)) return text;
  const pairs = /[\ud800-\udbff][\udc00-\udfff]/g;
  const escape = (part: string): string =>
    part.replace(UNSEEN, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const quoted = JSON.stringify(text);
  let result = '';
  let end = 0;
  for (const { 0: pair, index } of quoted.matchAll(pairs)) {
    result += escape(quoted.slice(end, index)) + pair;
    end = index + pair.length;
  }
  return result + escape(quoted.slice(end));
}

/** A value: as `yamlText`, with what would name an environment variable escaped. */
export function yamlValue(text: string): string {
  return yamlText(escapeReferences(text));
}

/** Lines of text behind a key, indented by `indent`. */
export function yamlBlock(text: string, indent: string): string {
  // Other characters would not come back as they are.
  if (/[^\n\u0020-\u007e\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd]|^\s|\s\n/u.test(text))
    return ` ${yamlValue(text)}`;
  const lines = escapeReferences(text).split('\n');
  return ` |-\n${lines.map((line) => `${indent}${line}`).join('\n')}`;
}

function escapeReferences(text: string): string {
  return text.replaceAll('${', () => '$${');
}

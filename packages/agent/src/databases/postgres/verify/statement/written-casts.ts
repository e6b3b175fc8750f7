import { quoteIdentifier } from '../../dialect/quote-identifier.ts';
import { isNode, namesIn, walk, type TreeNode } from './tree.ts';

/** A type as the author's SQL names it. */
export interface WrittenType {
  readonly sql: string;
  readonly name: string;
}

/**
 * The types to which each parameter is cast where it stands, innermost first, by the byte offset of its `$n`. Casts in a
 * CASE are left out: it may ask first whether the value is fit.
 */
export function writtenCasts(tree: TreeNode): ReadonlyMap<number, readonly (WrittenType | undefined)[]> {
  const found = new Map<number, readonly (WrittenType | undefined)[]>();
  const record = (outermost: TreeNode): boolean => {
    const types: (WrittenType | undefined)[] = [];
    let cast: unknown = outermost;
    while (isNode(cast)) {
      types.unshift(typeOf(cast['typeName']));
      const { arg } = cast;
      if (!isNode(arg)) return false;
      const parameter = arg['ParamRef'];
      if (isNode(parameter)) {
        found.set(Number(parameter['location'] ?? 0), types);
        return true;
      }
      cast = arg['TypeCast'];
    }
    return false;
  };
  walk(tree, (key, child) => key !== 'CaseExpr' && !(key === 'TypeCast' && isNode(child) && record(child)));
  return found;
}

/** Undefined for a type that cannot be written as SQL again with certainty. */
function typeOf(node: unknown): WrittenType | undefined {
  if (!isNode(node) || node['setof'] === true || node['pct_type'] === true) return undefined;
  const scalar = namesIn(node['names']).map(quoteIdentifier).join('.');
  const array = Array.isArray(node['arrayBounds']) ? '[]' : '';
  const modifiers = Array.isArray(node['typmods']) ? node['typmods'].map(modifierOf) : [];
  if (scalar === '' || modifiers.includes(undefined)) return undefined;
  const list = modifiers.length === 0 ? '' : `(${modifiers.join(', ')})`;
  return { sql: `${scalar}${list}${array}`, name: `${scalar}${array}` };
}

/** PostgreSQL's own types have whole numbers only. */
function modifierOf(node: unknown): string | undefined {
  const constant = isNode(node) ? node['A_Const'] : undefined;
  const integer = isNode(constant) ? constant['ival'] : undefined;
  // The parser leaves out a zero.
  return isNode(integer) ? String(Number(integer['ival'] ?? 0)) : undefined;
}

import type { ParamSchema } from '../../../capabilities/model.ts';

/** A pattern that matches none of these matches only numbers. */
const NO_NUMBERS = ['', 'abc', '1abc', '1-2', '2024-02-29', '0x10', '1 2'];

/** Whether every text that the parameter accepts is a number. */
export function takesNumbersAlone({ type, pattern, enum: choices }: ParamSchema): boolean {
  if (type !== 'string') return false;
  if (choices !== undefined) return choices.every((choice) => /^-?\d+(?:\.\d+)?$/.test(String(choice)));
  return pattern !== undefined && !NO_NUMBERS.some((text) => new RegExp(pattern, 'u').test(text));
}

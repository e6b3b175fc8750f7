/** `use` of a value that is known or will be: at once when it is known, since a promise for each request is garbage. */
export function whenKnown<Value, Next>(
  value: Value | Promise<Value>,
  use: (value: Value) => Next | Promise<Next>,
): Next | Promise<Next> {
  return value instanceof Promise ? value.then(use) : use(value);
}

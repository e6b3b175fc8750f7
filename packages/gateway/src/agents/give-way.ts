type VisitCall = (principal: string, id: number, mayGiveWay: boolean) => void;

/**
 * The call that makes place for one of this principal: the newest of the principal with most calls, if that principal then
 * still has as many calls as this one. Undefined if none can give way. A later call has a greater id.
 */
export function callToGiveWay(visitCalls: (visit: VisitCall) => void, principal: string): number | undefined {
  const counts = new Map<string, number>();
  let [most, mostCalls] = [principal, 0];
  visitCalls((each) => {
    const count = (counts.get(each) ?? 0) + 1;
    counts.set(each, count);
    if (count > mostCalls) [most, mostCalls] = [each, count];
  });
  // With a smaller excess, the two principals would take the place from each other forever.
  if (mostCalls - (counts.get(principal) ?? 0) < 2) return undefined;
  let newest: number | undefined;
  visitCalls((each, id, mayGiveWay) => {
    if (each === most && mayGiveWay && id > (newest ?? 0)) newest = id;
  });
  return newest;
}

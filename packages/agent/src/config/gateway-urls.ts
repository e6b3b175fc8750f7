/** The URLs in `gateway.url`, one or a list of them; none where it is something else. */
export function gatewayUrls(url: unknown): readonly string[] {
  const urls: readonly unknown[] = Array.isArray(url) ? url : [url];
  return urls.filter((one) => typeof one === 'string');
}

const HOST = /^(\[[\da-f:.]+\]|[a-z\d-]+(?:\.[a-z\d-]+)*)(?::\d{1,5})?$/;

/** Of a `Host` header: in lower case, IPv6 in brackets; undefined for what is not spelt as browsers spell a host. */
export function hostnameOf(host: string): string | undefined {
  return HOST.exec(host.toLowerCase())?.[1];
}

/** How to call a capability elsewhere; the key is always a variable, never the one in use. */
export function snippets(url: string, path: string, body: string): Readonly<Record<string, string>> {
  const quoted = body.replaceAll("'", '\\u0027');
  const address = JSON.stringify(`${url}${path}`);
  return {
    curl: `curl -sS "${url}${path}" -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d '${quoted}'`,
    fetch: `const response = await fetch(${address}, {
  method: 'POST',
  headers: { Authorization: \`Bearer \${process.env.KEY}\`, 'Content-Type': 'application/json' },
  body: ${JSON.stringify(body)},
});
const { rows } = await response.json();`,
    Python: `import json, os, urllib.request

request = urllib.request.Request(
    ${address},
    data=${JSON.stringify(body)}.encode(),
    headers={"Authorization": f"Bearer {os.environ['KEY']}", "Content-Type": "application/json"},
)
rows = json.load(urllib.request.urlopen(request))["rows"]`,
    MCP: JSON.stringify(
      { mcpServers: { svc: { type: 'http', url: `${url}/mcp`, headers: { Authorization: 'Bearer $KEY' } } } },
      undefined,
      2,
    ),
  };
}

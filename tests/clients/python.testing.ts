import type { Pairs } from './pairs.testing.ts';

/** A program that calls each capability by a client that was generated before, and checks that it has read the rows. */
export function callsSource({ compatible }: Pairs): string {
  const calls = [...compatible].flatMap(([name, bodies]) =>
    bodies.map((body) => `    (${JSON.stringify(name)}, ${JSON.stringify(JSON.stringify(body))}),`),
  );
  return `
import importlib, json, os, sys, typing
from client import AuthenticatedClient

CALLS = [
${calls.join('\n')}
]
gateway = AuthenticatedClient(base_url=os.environ["GATEWAY"], token=os.environ["KEY"])
failures = 0
for name, text in CALLS:
    call = importlib.import_module("client.api.capabilities." + name)
    params = typing.get_type_hints(call.sync_detailed)["body"]
    try:
        response = call.sync_detailed(client=gateway, body=params.from_dict(json.loads(text)))
        read = response.parsed.to_dict()
        if response.status_code != 200 or len(read["rows"]) != 2 or response.parsed.additional_properties:
            raise ValueError(response.content)
    except Exception as error:
        failures += 1
        print(name, text, repr(error))
print(len(CALLS), "calls")
sys.exit(1 if failures else 0)
`;
}

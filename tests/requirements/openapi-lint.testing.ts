import { createConfig, lintFromString } from '@redocly/openapi-core';

/** Rules of the linter that cannot hold here, each with the reason; everything else that it knows is on. */
const SWITCHED_OFF: Readonly<Record<string, string>> = {
  'operation-4xx-problem-details-rfc7807': 'docs/reference/errors.md promises another body',
  'paths-kebab-case': 'a path has the literal name of its capability, which is written with _',
  'path-segment-plural': 'as above: the names are those of the capability file',
  'no-http-verbs-in-paths': 'as above: get_book is a good name for a capability',
  'scalar-property-missing-example': 'the capability file has no examples, and invented values mislead',
  'required-string-property-missing-min-length': 'whether an empty text is fine is for the file to say',
};

/** Rules that do nothing until they are told what to look for. */
const HEADERS = { severity: 'error', names: { '2xx': ['X-Request-Id'], '4xx': ['X-Request-Id'] } } as const;

/** What Redocly finds in a document with all of its rules; one line each. */
export async function lintOpenApi(source: string): Promise<readonly string[]> {
  const config = await createConfig({
    extends: ['all'],
    rules: {
      ...Object.fromEntries(Object.keys(SWITCHED_OFF).map((rule) => [rule, 'off'])),
      'response-contains-header': HEADERS,
    },
  });
  return await problemsOf(source, config);
}

/** What its strict recommendation finds, with nothing switched off. */
export async function lintAsRecommended(source: string): Promise<readonly string[]> {
  return await problemsOf(source, await createConfig({ extends: ['recommended-strict'] }));
}

async function problemsOf(
  source: string,
  config: Awaited<ReturnType<typeof createConfig>>,
): Promise<readonly string[]> {
  const problems = await lintFromString({ source, config });
  return problems.map(
    ({ ruleId, message, location }) => `${ruleId}: ${message} (${location[0]?.pointer ?? ''})`,
  );
}

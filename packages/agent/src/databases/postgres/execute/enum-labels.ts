/** The labels of an enum, from the JSON array that the server makes of them. */
export function enumLabels(json: string | null | undefined): readonly string[] {
  const labels: unknown = JSON.parse(json ?? '[]');
  return Array.isArray(labels) ? labels.filter((label) => typeof label === 'string') : [];
}

export type { Description, ManifestEntry, OpenApiDocument } from './description.ts';

/** What a claim may be once it is known by a name of ours; nothing else of a token or of a key's record goes on. */
export type ClaimValue = string | number | boolean | readonly string[];

/** By the names that the configuration gives them. */
export type Claims = Readonly<Record<string, ClaimValue>>;

/** Where a claim stands: the names of objects inside each other. A name may hold dots, slashes and colons. */
export type ClaimPath = readonly string[];

/** What travels to agents and into settings of the database. */
export const CLAIMS_JSON_MAX_BYTES = 8192;

export { assetHeaders, createAssets, CONSOLE_PATH, type Asset } from './assets.ts';
export { boundConnections } from './bound-connections.ts';
export { createBrowserCheck } from './check-browser.ts';
export { createTokenCheck, WRONG_PER_MINUTE } from './check-token.ts';
export { forwardRequest } from './forward.ts';
export { SECURITY_HEADERS } from './security-headers.ts';

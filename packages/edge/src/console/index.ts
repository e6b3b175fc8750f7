export { assetHeaders, createAssets, CONSOLE_PATH, type Asset } from './assets.ts';
export { createBrowserCheck } from './check-browser.ts';
export { createTokenCheck, WRONG_PER_MINUTE } from './check-token.ts';
export { SECURITY_HEADERS } from './security-headers.ts';

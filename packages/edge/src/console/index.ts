export { assetHeaders, createAssets, CONSOLE_PATH } from './assets.ts';
export { createBrowserCheck } from './check-browser.ts';
export { forwardRequest } from './forward.ts';
export {
  JSON_ANSWER,
  SECURITY_HEADERS,
  serveConsole,
  WRONG_PER_MINUTE,
  type ConsoleExchange,
  type ConsoleServerOptions,
} from './serve-console.ts';

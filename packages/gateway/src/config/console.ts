import { isLoopbackHost } from '@svc/protocol';
import type { ConsoleConfig } from './model.ts';
import { bad, good, type Parsed } from './parse/parsed.ts';
import { parseListenAddress } from './parse/urls.ts';
import { parseBoolean } from './parse/values.ts';
import type { ReadSettings } from './read-settings.ts';

const TRACE_ID = '{trace_id}';

/** Reads the settings of the operators' console; undefined if there is none, or it is at fault. */
export function readConsole(settings: ReadSettings, hasTls: boolean): ConsoleConfig | undefined {
  const { faults, isSet, read } = settings;
  const listen = read('GATEWAY_CONSOLE_ADDR', parseListenAddress);
  const tokenSha256 = read('GATEWAY_CONSOLE_TOKEN_SHA256', parseSha256);
  const behindTlsProxy = read('GATEWAY_CONSOLE_BEHIND_TLS_PROXY', parseBoolean) ?? false;
  const traceUrl = read('GATEWAY_TRACE_URL', parseTraceUrl);
  if (!isSet('GATEWAY_CONSOLE_ADDR')) {
    const dependent = [
      ['GATEWAY_CONSOLE_TOKEN_SHA256', isSet('GATEWAY_CONSOLE_TOKEN_SHA256')],
      ['GATEWAY_CONSOLE_BEHIND_TLS_PROXY', behindTlsProxy],
      ['GATEWAY_TRACE_URL', isSet('GATEWAY_TRACE_URL')],
    ] as const;
    for (const [setting, isUsed] of dependent) {
      if (isUsed)
        faults.push({ setting, message: 'is set without GATEWAY_CONSOLE_ADDR; set both, or neither' });
    }
    return undefined;
  }
  if (!isSet('GATEWAY_CONSOLE_TOKEN_SHA256')) {
    const message =
      'is missing beside GATEWAY_CONSOLE_ADDR; make a token with svc-gateway create-console-token, which prints it';
    faults.push({ setting: 'GATEWAY_CONSOLE_TOKEN_SHA256', message });
  }
  if (listen !== undefined && !isLoopback(listen.host) && !hasTls && !behindTlsProxy) {
    const message =
      'is reached from other machines without TLS, which would show its token to anyone on the network path; set ' +
      'GATEWAY_TLS_CERT_FILE and GATEWAY_TLS_KEY_FILE, or a loopback address like 127.0.0.1:9091, or ' +
      'GATEWAY_CONSOLE_BEHIND_TLS_PROXY=true if a proxy in front of it does TLS';
    faults.push({ setting: 'GATEWAY_CONSOLE_ADDR', message });
  }
  if (listen === undefined || tokenSha256 === undefined) return undefined;
  return { listen, tokenSha256, behindTlsProxy, traceUrl };
}

function isLoopback(host: string | undefined): boolean {
  return host !== undefined && isLoopbackHost(host);
}

/** Problems do not repeat the text: it may be the token itself, put there by mistake. */
function parseSha256(text: string): Parsed<string> {
  return /^[0-9a-fA-F]{64}$/.test(text)
    ? good(text.toLowerCase())
    : bad(
        'is not accepted; accepted: the SHA-256 of the token as 64 hexadecimal digits, as ' +
          'svc-gateway create-console-token prints it',
      );
}

function parseTraceUrl(text: string): Parsed<string> {
  const example = text.replace(TRACE_ID, '0');
  const url = URL.canParse(example) ? new URL(example) : undefined;
  const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:';
  return isWeb && url.username === '' && url.password === '' && text.includes(TRACE_ID)
    ? good(text)
    : bad(
        `is not accepted; accepted: an http:// or https:// URL without credentials that contains ${TRACE_ID}`,
      );
}

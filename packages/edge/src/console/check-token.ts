import { createHash, timingSafeEqual } from 'node:crypto';

/** What is said of an `Authorization`: a right one is never refused, whatever came from its source before. */
type TokenVerdict = 'right' | 'missing' | 'wrong' | { readonly retryAfterSeconds: number };

interface TokenCheck {
  /** Counts nothing. */
  readonly isRight: (authorization: string | undefined) => boolean;
  /** `source` is whom wrong tokens are counted for. */
  readonly checkToken: (authorization: string | undefined, source: string) => TokenVerdict;
}

/** How many wrong tokens of a source are answered with 401 in a minute. */
export const WRONG_PER_MINUTE = 10;

/** Takes note of a wrong token. */
type TakeWrong = (
  source: string,
) => { readonly ok: true } | { readonly ok: false; readonly retryAfterSeconds: number };

/** `sha256`: of the token, hex. */
export function createTokenCheck(sha256: string, takeWrong: TakeWrong): TokenCheck {
  const right = Buffer.from(sha256, 'hex');
  const isRight: TokenCheck['isRight'] = (authorization = '') => {
    const token = /^bearer +(\S+) *$/i.exec(authorization)?.[1] ?? '';
    return timingSafeEqual(createHash('sha256').update(token).digest(), right);
  };
  return {
    isRight,
    checkToken(authorization, source) {
      if (authorization === undefined) return 'missing';
      if (isRight(authorization)) return 'right';
      const decision = takeWrong(source);
      return decision.ok ? 'wrong' : decision;
    },
  };
}

export interface FileWatch {
  /** Looks now, in addition to every interval. */
  look(): void;
  close(): void;
}

/**
 * Looks at each interval whether files hold something else. Their contents count and nothing else of them: files are
 * replaced, and links led elsewhere, in ways that no notice of the operating system tells.
 */
export function watchFiles<Contents>(options: {
  /** Never rejects. */
  readonly read: () => Promise<Contents>;
  readonly isNews: (contents: Contents) => boolean;
  /** Nothing is looked at until this has resolved. */
  readonly onNews: (contents: Contents) => Promise<unknown> | void;
  readonly intervalMs: number;
  /** A file may be written in parts: news count once two looks that are this far apart see the same. */
  readonly settleMs?: number;
}): FileWatch {
  const { read, isNews, onNews, intervalMs, settleMs } = options;
  let looking = false;
  let lookAgain = false;
  let closed = false;
  const timer = setInterval(() => looking || look(), intervalMs);

  async function lookOnce(): Promise<void> {
    let contents = await read();
    if (settleMs !== undefined && isNews(contents)) contents = await settled(settleMs);
    if (!closed && isNews(contents)) await onNews(contents);
  }

  async function settled(pauseMs: number): Promise<Contents> {
    for (let before = ''; ;) {
      const contents = await read();
      const now = JSON.stringify(contents);
      if (closed || now === before) return contents;
      before = now;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }

  function look(): void {
    if (looking) {
      // The contents being read may be older than those that the caller wants to be seen.
      lookAgain = true;
      return;
    }
    looking = true;
    void lookOnce().finally(() => {
      looking = false;
      if (!lookAgain || closed) return;
      lookAgain = false;
      look();
    });
  }

  return {
    look,
    close() {
      closed = true;
      clearInterval(timer);
    },
  };
}

import { claimPageId, IPageEnvironment } from '../pageId';

/** Tabs of one browser: each has its own storage, and all share one channel. */
class Browser {
  tab(stored: Record<string, string> = {}): IPageEnvironment & {
    stored: Record<string, string>;
  } {
    return {
      stored,
      storage: {
        getItem: key => stored[key] ?? null,
        setItem: (key, value) => {
          stored[key] = value;
        }
      },
      openChannel: () => this._channel(),
      timeout: 10
    };
  }

  /** Close the tab of this channel. */
  close(index: number): void {
    this._channels.splice(index, 1);
  }

  private _channel(): BroadcastChannel {
    const channel = {
      onmessage: null as ((event: { data: unknown }) => void) | null,
      postMessage: (data: unknown) =>
        this._channels
          .filter(other => other !== channel)
          .forEach(other => other.onmessage?.({ data }))
    };
    this._channels.push(channel);
    return channel as unknown as BroadcastChannel;
  }

  private _channels: {
    onmessage: ((event: { data: unknown }) => void) | null;
  }[] = [];
}

it('is kept over a reload', async () => {
  const browser = new Browser();
  const tab = browser.tab();
  const before = await claimPageId(tab);
  browser.close(0);
  expect(await claimPageId(browser.tab(tab.stored))).toBe(before);
});

it('differs in another tab', async () => {
  const browser = new Browser();
  const first = await claimPageId(browser.tab());
  expect(await claimPageId(browser.tab())).not.toBe(first);
});

it('differs in a duplicated tab, whose copy is replaced', async () => {
  const browser = new Browser();
  const tab = browser.tab();
  const first = await claimPageId(tab);
  const copy = browser.tab({ ...tab.stored });
  const second = await claimPageId(copy);
  expect(second).not.toBe(first);
  expect(Object.values(copy.stored)).toEqual([second]);
});

it.each([1, 2, 3, 4, 5])(
  'goes to one of two tabs that come up at once (%d)',
  async () => {
    const browser = new Browser();
    const stored = { 'exploracoder-jupyter:page': 'the same' };
    const names = await Promise.all([
      claimPageId(browser.tab({ ...stored })),
      claimPageId(browser.tab({ ...stored }))
    ]);
    expect(names.filter(name => name === 'the same')).toHaveLength(1);
  }
);

it('lasts as long as the page if storage is forbidden', async () => {
  const refuse = () => {
    throw new Error('forbidden');
  };
  const world = {
    storage: { getItem: refuse, setItem: refuse },
    openChannel: () => null,
    timeout: 1
  };
  expect(await claimPageId(world)).toMatch(/.+/);
});

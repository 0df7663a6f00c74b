/**
 * The name of this page (browser tab). It survives a reload, and no two tabs share it: a duplicated tab comes up with a
 * copy of the session storage, and has to find out that its name is taken.
 */
import { UUID } from '@lumino/coreutils';

const KEY = 'exploracoder-jupyter:page';
const CHANNEL = 'exploracoder-jupyter:pages';
/** Tabs of one browser answer within a few milliseconds; this is waited once a page, while it loads. */
const CLAIM_TIMEOUT = 200;

interface IClaim {
  type: 'claim' | 'taken';
  id: string;
  /** Of two tabs that claim at the same moment the one with the smaller token has the name. */
  token: string;
}

/** Where names are kept and claims are heard; the browser's own, but for tests. */
export interface IPageEnvironment {
  storage: Pick<Storage, 'getItem' | 'setItem'>;
  openChannel(name: string): BroadcastChannel | null;
  timeout: number;
}

const BROWSER: IPageEnvironment = {
  get storage() {
    return window.sessionStorage;
  },
  openChannel: name =>
    typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel(name),
  timeout: CLAIM_TIMEOUT
};

/** The name of this page, once no other tab objects. Ask once a page: the name is defended from then on. */
export async function claimPageId(world = BROWSER): Promise<string> {
  const stored = readPageId(world);
  const channel = world.openChannel(CHANNEL);
  const id = stored ?? UUID.uuid4();
  if (channel === null) {
    return storePageId(world, id);
  }
  const token = UUID.uuid4();
  const taken =
    stored !== null && (await isClaimedElsewhere(channel, id, token, world));
  const name = storePageId(world, taken ? UUID.uuid4() : id);
  defendPageId(channel, name);
  return name;
}

/** Claim the name; whether another tab has it. */
function isClaimedElsewhere(
  channel: BroadcastChannel,
  id: string,
  token: string,
  world: IPageEnvironment
): Promise<boolean> {
  return new Promise(resolve => {
    channel.onmessage = ({ data }: MessageEvent<IClaim>) => {
      if (data.id !== id || data.token === token) {
        return;
      }
      if (data.type === 'taken' || data.token < token) {
        resolve(true);
      } else {
        channel.postMessage({ type: 'taken', id, token });
      }
    };
    channel.postMessage({ type: 'claim', id, token });
    setTimeout(() => resolve(false), world.timeout);
  });
}

function defendPageId(channel: BroadcastChannel, id: string): void {
  channel.onmessage = ({ data }: MessageEvent<IClaim>) => {
    if (data.type === 'claim' && data.id === id) {
      channel.postMessage({ type: 'taken', id, token: '' });
    }
  };
}

/** Storage may be forbidden; then the page has a new name after each reload. */
function readPageId(world: IPageEnvironment): string | null {
  try {
    return world.storage.getItem(KEY);
  } catch {
    return null;
  }
}

function storePageId(world: IPageEnvironment, id: string): string {
  try {
    world.storage.setItem(KEY, id);
  } catch {
    // The name lives as long as the page does.
  }
  return id;
}

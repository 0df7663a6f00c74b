/**
 * The id of this page (browser tab). It survives a reload, and no two tabs share it: a duplicated tab starts with a
 * copy of the session storage, so it has to detect that its id is taken.
 */
import { UUID } from '@lumino/coreutils';

const KEY = 'exploracoder-jupyter:page';
const CHANNEL = 'exploracoder-jupyter:pages';
/**
 * How long to wait for other tabs, in milliseconds. They answer within a few; the wait happens once per page, while it
 * loads.
 */
const CLAIM_TIMEOUT = 200;

interface IClaim {
  type: 'claim' | 'taken';
  id: string;
  /** If two tabs claim an id at the same time, the one with the smaller token gets it. */
  token: string;
}

/** Where ids are stored and claims are exchanged. Replaced in tests. */
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

/**
 * Return the id of this page after checking that no other tab uses it. Call it once per page; the id is defended from
 * then on.
 */
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

/** Claim the id. Resolves to whether another tab has it. */
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

/** Storage may be forbidden. The page then gets a new id after each reload. */
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
    // The id lasts as long as the page does.
  }
  return id;
}

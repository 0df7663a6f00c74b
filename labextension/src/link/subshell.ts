/**
 * Opens a comm whose messages the kernel hears while a cell is running: over a subshell, where the kernel has them.
 *
 * JupyterLab starts a comm's subshell once it knows the kernel's features. After a reload it asks for these on the
 * channel that the running cell blocks; then features and subshell are asked for on the control channel instead.
 */
import { Kernel, KernelMessage } from '@jupyterlab/services';

/** A comm, whether it has a subshell, and, if not, whether another attempt may start one. */
export interface IOpened {
  comm: Kernel.IComm;
  subshell: boolean;
  retry: boolean;
}

/** What JupyterLab's comms have beyond their interface, each of it since some version. */
interface ICommInside {
  subshellStarted?: Promise<void>;
  _subshellId?: string | null;
}

type Request = 'kernel_info_request' | 'create_subshell_request';

const FEATURE = 'kernel subshells';

/** How long JupyterLab is given for each step by itself, in milliseconds. */
const PATIENCE = 1000;

/** How long a reply on the control channel may take, in milliseconds: a dropped connection loses replies. */
const REPLY_TIMEOUT = 10_000;

/** How often the control channel is tried. */
const ATTEMPTS = 3;

/**
 * Make the comm, ready to be opened. Rejects where the connection has no comms.
 *
 * @param kernel - the connection
 * @param target - name of the comm's target
 * @param patience - how long to wait before the control channel is tried, in milliseconds
 */
export async function commOverSubshell(
  kernel: Kernel.IKernelConnection,
  target: string,
  patience = PATIENCE
): Promise<IOpened> {
  const comm = kernel.createComm(target);
  const inside = comm as Kernel.IComm & ICommInside;
  if (inside.subshellStarted === undefined) {
    return { comm, subshell: false, retry: false };
  }
  if (await settles(kernel.info, patience)) {
    if (kernel.supportsSubshells !== true) {
      return { comm, subshell: false, retry: false };
    }
    if (await settles(inside.subshellStarted, patience)) {
      return { comm, subshell: true, retry: false };
    }
  }
  const id = await subshellByControl(kernel, patience);
  if (typeof id !== 'string') {
    return { comm, subshell: false, retry: id === undefined };
  }
  // JupyterLab may start another one later. Neither is deleted then: the kernel routes this comm's messages to the one
  // that it answered from last, and a message to a subshell that does not exist is lost.
  inside._subshellId = id;
  return { comm, subshell: true, retry: false };
}

/**
 * The id of a new subshell, requested on the control channel.
 *
 * `null` if the kernel has none; `undefined` if no attempt succeeded: a busy server drops the connection, and then
 * requests are rejected.
 */
async function subshellByControl(
  kernel: Kernel.IKernelConnection,
  pause: number
): Promise<string | null | undefined> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    try {
      return await createSubshell(kernel);
    } catch {
      // There may be another attempt.
    }
    await new Promise(resolve => setTimeout(resolve, attempt * pause));
  }
  return undefined;
}

/** Rejects where the kernel has subshells, but did not start one. */
async function createSubshell(
  kernel: Kernel.IKernelConnection
): Promise<string | null> {
  const info = await ask(kernel, 'kernel_info_request');
  const features = (info as { supported_features?: string[] })
    .supported_features;
  if (!features?.includes(FEATURE)) {
    return null;
  }
  const reply = await ask(kernel, 'create_subshell_request');
  const id = (reply as { subshell_id?: string }).subshell_id;
  if (id === undefined) {
    throw new Error(JSON.stringify(reply));
  }
  return id;
}

async function ask(
  kernel: Kernel.IKernelConnection,
  msgType: Request
): Promise<unknown> {
  const message = KernelMessage.createMessage({
    msgType: msgType as 'create_subshell_request',
    channel: 'control',
    username: kernel.username,
    session: kernel.clientId,
    content: {}
  });
  const future = kernel.sendControlMessage(message, true);
  if (!(await settles(future.done, REPLY_TIMEOUT))) {
    throw new Error(`no reply to ${msgType}`);
  }
  return (await future.done).content;
}

async function settles(
  promise: Promise<unknown>,
  patience: number
): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>(resolve => {
    timer = setTimeout(() => resolve(false), patience);
  });
  const settled = await Promise.race([succeeds(promise), late]);
  clearTimeout(timer);
  return settled;
}

function succeeds(promise: Promise<unknown>): Promise<boolean> {
  return promise.then(
    () => true,
    () => false
  );
}

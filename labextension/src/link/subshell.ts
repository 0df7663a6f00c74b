/**
 * Opens a comm whose messages the kernel handles while a cell is running, using a subshell if the kernel supports them.
 *
 * JupyterLab starts a comm's subshell once it knows the kernel's features. After a reload it requests these on the
 * channel that the running cell blocks. Features and subshell are then requested on the control channel instead.
 */
import { Kernel, KernelMessage } from '@jupyterlab/services';

/** A comm, whether it has a subshell, and if not, whether another attempt may start one. */
export interface ICommResult {
  comm: Kernel.IComm;
  subshell: boolean;
  retry: boolean;
}

/** Members of JupyterLab's comms that are not in their interface; each exists since some version. */
interface ICommInternals {
  subshellStarted?: Promise<void>;
  _subshellId?: string | null;
}

type Request = 'kernel_info_request' | 'create_subshell_request';

const FEATURE = 'kernel subshells';

/** How long to wait for each of JupyterLab's own steps, in milliseconds. */
const STEP_TIMEOUT = 1000;

/** How long a reply on the control channel may take, in milliseconds: a dropped connection loses replies. */
const REPLY_TIMEOUT = 10_000;

/** Number of attempts on the control channel. */
const ATTEMPTS = 3;

/**
 * Create the comm, ready to be opened. Rejects if the connection does not support comms.
 *
 * @param kernel - the connection
 * @param target - name of the comm's target
 * @param patience - how long to wait before the control channel is tried, in milliseconds
 */
export async function createComm(
  kernel: Kernel.IKernelConnection,
  target: string,
  patience = STEP_TIMEOUT
): Promise<ICommResult> {
  const comm = kernel.createComm(target);
  const inside = comm as Kernel.IComm & ICommInternals;
  if (inside.subshellStarted === undefined) {
    return { comm, subshell: false, retry: false };
  }
  if (await succeedsWithin(kernel.info, patience)) {
    if (kernel.supportsSubshells !== true) {
      return { comm, subshell: false, retry: false };
    }
    if (await succeedsWithin(inside.subshellStarted, patience)) {
      return { comm, subshell: true, retry: false };
    }
  }
  const id = await createSubshellOnControl(kernel, patience);
  if (typeof id !== 'string') {
    return { comm, subshell: false, retry: id === undefined };
  }
  // JupyterLab may start another subshell later. Neither is deleted: the kernel routes the messages of this comm to the
  // subshell from which it last replied, and messages to a deleted subshell are lost.
  inside._subshellId = id;
  return { comm, subshell: true, retry: false };
}

/**
 * Create a subshell by a request on the control channel and return its id.
 *
 * Returns `null` if the kernel does not support subshells, and `undefined` if no attempt succeeded: a busy server drops
 * the connection, which rejects requests.
 */
async function createSubshellOnControl(
  kernel: Kernel.IKernelConnection,
  pause: number
): Promise<string | null | undefined> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    try {
      return await createSubshell(kernel);
    } catch {
      // Retry below.
    }
    await new Promise(resolve => setTimeout(resolve, attempt * pause));
  }
  return undefined;
}

/** Rejects if the kernel supports subshells but did not start one. */
async function createSubshell(
  kernel: Kernel.IKernelConnection
): Promise<string | null> {
  const info = await sendControlRequest(kernel, 'kernel_info_request');
  const features = (info as { supported_features?: string[] })
    .supported_features;
  if (!features?.includes(FEATURE)) {
    return null;
  }
  const reply = await sendControlRequest(kernel, 'create_subshell_request');
  const id = (reply as { subshell_id?: string }).subshell_id;
  if (id === undefined) {
    throw new Error(JSON.stringify(reply));
  }
  return id;
}

async function sendControlRequest(
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
  if (!(await succeedsWithin(future.done, REPLY_TIMEOUT))) {
    throw new Error(`no reply to ${msgType}`);
  }
  return (await future.done).content;
}

async function succeedsWithin(
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

import type { Kernel, KernelMessage } from '@jupyterlab/services';
import { PromiseDelegate } from '@lumino/coreutils';
import { Signal } from '@lumino/signaling';

import {
  CONTROL,
  EVENTS,
  Opening,
  RunView,
  ToKernel,
  VERSION
} from '../../messages';

type Request = ToKernel & { request: number };

/** A comm that the page has opened, as seen from the kernel. */
class FakeComm {
  onMsg: (message: unknown) => void = () => undefined;
  onClose: (message: unknown) => void = () => undefined;
  isOpen = false;
  isDisposed = false;
  _subshellId: string | null = null;

  constructor(
    private _kernel: FakeKernel,
    readonly subshellStarted: Promise<void> | undefined
  ) {}

  open(): void {
    this.isOpen = true;
    if (!this._kernel.loaded) {
      queueMicrotask(() => this.onClose({}));
    }
  }

  send(message: Request): void {
    this._kernel.receive(message);
  }

  dispose(): void {
    this.isDisposed = true;
  }
}

/** A kernel connection with a fake kernel behind it, which speaks the extension's protocol. */
export class FakeKernel {
  /** Whether the kernel has loaded the extension. */
  loaded = true;
  supportsSubshells = true;
  handleComms = true;
  isDisposed = false;
  status: KernelMessage.Status = 'idle';
  id = 'kernel';
  clientId = 'my session';
  username = '';
  info: Promise<unknown> = Promise.resolve({});
  subshellStarted: Promise<void> | undefined = Promise.resolve();
  features: string[] = ['kernel subshells'];
  version = VERSION;

  /** The runs that it reports. */
  runs: RunView[] = [];
  /** The messages it received, in order. */
  received: Request[] = [];
  /** The answers to requests, by type. Other requests are not answered. */
  answers: Record<string, (message: Request) => object | undefined> = {
    hello: () => ({
      type: 'welcome',
      version: this.version,
      runs: this.runs,
      traces: []
    })
  };
  comms: FakeComm[] = [];

  readonly connectionStatusChanged = new Signal<this, Kernel.ConnectionStatus>(
    this
  );

  get connection(): Kernel.IKernelConnection {
    return this as unknown as Kernel.IKernelConnection;
  }

  createComm(target: string): FakeComm {
    if (!this.handleComms) {
      throw new Error('Comms are disabled on this kernel connection');
    }
    expect(target).toBe(CONTROL);
    this.comms.push(new FakeComm(this, this.subshellStarted));
    return this.comms[this.comms.length - 1];
  }

  registerCommTarget(target: string, callback: unknown): void {
    expect(target).toBe(EVENTS);
    this._target = callback as typeof this._target;
  }

  removeCommTarget(): void {
    this._target = null;
  }

  /** How many of the next requests on the control channel fail. */
  controlFailures = 0;
  /** How many of the next requests on the control channel are neither answered nor rejected. */
  controlLost = 0;
  /** The types of the requests on the control channel. */
  requested: string[] = [];

  sendControlMessage(message: KernelMessage.IMessage): {
    done: Promise<unknown>;
  } {
    this.requested.push(message.header.msg_type);
    if (this.controlLost > 0) {
      this.controlLost -= 1;
      return { done: new Promise(() => undefined) };
    }
    if (this.controlFailures > 0) {
      this.controlFailures -= 1;
      return { done: Promise.reject(new Error('Canceled future')) };
    }
    const content =
      message.header.msg_type === 'kernel_info_request'
        ? { supported_features: this.features }
        : { subshell_id: 'by control' };
    return { done: Promise.resolve({ content }) };
  }

  receive(message: Request): void {
    this.received.push(message);
    if (message.type === 'hello') {
      this.open('hello');
    }
    const answer = this.answers[message.type]?.(message);
    if (answer) {
      queueMicrotask(() => this.answer(message.request, answer));
    }
  }

  answer(request: number, answer: object): void {
    const data = { ...answer, request };
    this.comms[this.comms.length - 1].onMsg({ content: { data } });
  }

  /** Open the events comm. */
  open(reason: Opening['reason'], session = 'another session'): void {
    const data = {
      version: this.version,
      package: '',
      reason,
      runs: this.runs
    };
    this._target?.(this._events, {
      content: { data },
      parent_header: { session }
    });
  }

  /** Send a message to all pages. */
  broadcast(data: object): void {
    this._events.onMsg({ content: { data } });
  }

  receivedOfType(type: ToKernel['type']): Request[] {
    return this.received.filter(message => message.type === type);
  }

  private _events = { onMsg: (_: unknown): void => undefined };
  private _target: ((comm: unknown, message: unknown) => void) | null = null;
}

/** Wait until pending callbacks have run. */
export async function settled(): Promise<void> {
  await new Promise(resolve => setTimeout(resolve, 0));
}

export function never<T>(): Promise<T> {
  return new PromiseDelegate<T>().promise;
}

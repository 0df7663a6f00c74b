/**
 * The two comms of one kernel connection: events arrive on the comm that the kernel opens, requests are sent on the
 * comm that this page opens. Requests are numbered; each is answered or rejected with `NoAnswerError`.
 */
import type { Kernel, KernelMessage } from '@jupyterlab/services';
import type { JSONObject } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';

import {
  Answer,
  CONTROL,
  EVENTS,
  FromKernel,
  Opening,
  ToKernel,
  VERSION,
  Welcome
} from '../messages';
import { createComm } from './subshell';

/** How long to wait for an answer from a kernel with subshells, in milliseconds. */
const ANSWER_TIMEOUT = 10_000;

/** Delay before another attempt to start a subshell after none could be started, in milliseconds. */
const RETRY_AFTER = 5000;

/** How often the response to a kernel's call is repeated after it failed. */
const MORE_ATTEMPTS = 2;

/** Why a request was not answered. */
export type FailureReason = 'closed' | 'timeout' | 'none';

/** Thrown when a request is not answered. */
export class NoAnswerError extends Error {
  constructor(readonly reason: FailureReason) {
    super(reason);
  }
}

type State = 'none' | 'connecting' | 'ready' | 'other-version';

interface IPendingRequest {
  resolve: (answer: Answer) => void;
  reject: (error: NoAnswerError) => void;
}

export class KernelLink implements IDisposable {
  /**
   * @param kernel - the connection; it is not owned
   * @param page - id of this page
   * @param patience - for an answer of a kernel with subshells, in milliseconds
   * @param notebook - path of the notebook on the server, as it is named now
   */
  constructor(
    readonly kernel: Kernel.IKernelConnection,
    private _pageId: Promise<string>,
    private _timeout = ANSWER_TIMEOUT,
    private _notebookPath: () => string = () => ''
  ) {
    kernel.registerCommTarget(EVENTS, this._onCommOpen);
    kernel.connectionStatusChanged.connect(this._onConnectionStatus, this);
  }

  get state(): State {
    return this._state;
  }

  /** Whether the kernel handles requests while a cell is running. */
  get hasSubshell(): boolean {
    return this._hasSubshell;
  }

  /** Whether requests can be sent but are not handled while a cell is running. */
  get isBlockedByCell(): boolean {
    return this._control !== null && !this._hasSubshell;
  }

  /** Emitted when the state has changed. */
  get changed(): ISignal<this, void> {
    return this._changed;
  }

  /** Emitted when the kernel has opened its comm. */
  get opened(): ISignal<this, Opening> {
    return this._opened;
  }

  /** Emitted when the kernel has answered this page's `Hello`. */
  get welcomed(): ISignal<this, Welcome> {
    return this._welcomed;
  }

  get received(): ISignal<this, FromKernel> {
    return this._received;
  }

  /** Path of the notebook that the kernel's links are relative to: the one in the last `Hello` that it answered. */
  get notebook(): string | null {
    return this._notebook;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Send `Hello`, over a new comm if there is none. Never rejects. */
  connect(): Promise<void> {
    if (this._connecting === null) {
      const connecting = this._connect().finally(() => {
        if (this._connecting === connecting) {
          this._connecting = null;
        }
      });
      this._connecting = connecting;
    }
    return this._connecting;
  }

  /** Reset the link after a restart of the kernel, which no longer knows this page. */
  restart(): void {
    this._closeControl('closed');
    this._closeReason = 'none';
    this._connecting = null;
    this._restartCount += 1;
    this.kernel.registerCommTarget(EVENTS, this._onCommOpen);
  }

  /**
   * Send a request and wait for the answer. Rejects with `NoAnswerError`.
   *
   * @param timeout - for an answer of a kernel with subshells, in milliseconds
   */
  async request(message: ToKernel, timeout = this._timeout): Promise<Answer> {
    if (this._control === null) {
      throw new NoAnswerError(this._closeReason);
    }
    const request = ++this._requestCount;
    const answer = new Promise<Answer>((resolve, reject) => {
      this._pending.set(request, { resolve, reject });
    });
    try {
      this.post({ ...message, request });
      return await (this._hasSubshell
        ? this._withTimeout(answer, request, timeout)
        : answer);
    } finally {
      this._pending.delete(request);
    }
  }

  /** Send a message without waiting for an answer. */
  post(message: ToKernel): void {
    try {
      this._control?.send(message as unknown as JSONObject);
    } catch {
      this._closeControl('closed');
    }
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    if (!this.kernel.isDisposed) {
      this.kernel.removeCommTarget(EVENTS, this._onCommOpen);
    }
    this._closeControl('closed');
    Signal.clearData(this);
  }

  private async _connect(): Promise<void> {
    const restarts = this._restartCount;
    try {
      if (this._control === null) {
        this._setState('connecting');
        await this._openControl();
      }
      await this._sendHello();
    } catch (error) {
      if (restarts === this._restartCount) {
        this._closeControl(
          error instanceof NoAnswerError ? error.reason : 'closed'
        );
      }
    }
  }

  private async _openControl(): Promise<void> {
    const restarts = this._restartCount;
    const { comm, subshell, retry } = await createComm(this.kernel, CONTROL);
    if (this._isDisposed || restarts !== this._restartCount) {
      comm.dispose(); // its subshell died with the kernel
      throw new NoAnswerError('closed');
    }
    comm.onMsg = this._onAnswer;
    comm.onClose = () => {
      if (this._control === comm) {
        this._closeControl('none');
      }
    };
    comm.open();
    this._control = comm;
    this._hasSubshell = subshell;
    this._changed.emit();
    if (retry) {
      setTimeout(() => void this._reopenControl(comm), RETRY_AFTER);
    }
  }

  /** Open another control comm to replace this one, which the running cell blocks. */
  private async _reopenControl(comm: Kernel.IComm): Promise<void> {
    if (this._control === comm && !this._isDisposed) {
      this._closeControl('closed');
      await this._connecting; // its `Hello` has just been rejected
      await this.connect();
    }
  }

  /** Send `Hello`, and again if the notebook was renamed before the answer. */
  private async _sendHello(): Promise<void> {
    const page = await this._pageId;
    const session = this.kernel.clientId;
    const notebook = this._notebookPath();
    const answer = await this.request({
      type: 'hello',
      version: VERSION,
      page,
      session,
      notebook
    });
    if (answer.type !== 'welcome' || answer.version !== VERSION) {
      this._setState('other-version');
      return;
    }
    this._notebook = notebook;
    this._setState('ready');
    this._welcomed.emit(answer);
    if (this._notebookPath() !== notebook) {
      await this._sendHello();
    }
  }

  private async _withTimeout(
    answer: Promise<Answer>,
    request: number,
    timeout: number
  ): Promise<Answer> {
    const timer = setTimeout(
      () => this._pending.get(request)?.reject(new NoAnswerError('timeout')),
      timeout
    );
    return answer.finally(() => clearTimeout(timer));
  }

  private _onCommOpen = (
    comm: Kernel.IComm,
    message: KernelMessage.ICommOpenMsg
  ): void => {
    const opening = message.content.data as unknown as Opening;
    if (opening.version !== VERSION) {
      this._setState('other-version');
      return;
    }
    // The kernel uses its newest comm. Late messages on an older one are still in order.
    comm.onMsg = event => this._receive(event.content.data);
    const parent = message.parent_header as { session?: string };
    const called =
      opening.reason === 'call' && parent.session === this.kernel.clientId;
    this._opened.emit(opening);
    if (called || this._control === null) {
      void this._respondToCall();
    }
  };

  /**
   * A pending connection attempt may have started before the kernel knew this page, so a failed attempt is repeated.
   */
  private async _respondToCall(): Promise<void> {
    const restarts = this._restartCount;
    await this.connect();
    for (let more = 0; more < MORE_ATTEMPTS; more++) {
      if (
        this._control !== null ||
        this._isDisposed ||
        restarts !== this._restartCount
      ) {
        return;
      }
      await this.connect();
    }
  }

  private _receive(data: unknown): void {
    if (!this._isDisposed) {
      this._received.emit(data as FromKernel);
    }
  }

  private _onAnswer = (message: KernelMessage.ICommMsgMsg): void => {
    const answer = message.content.data as unknown as Answer;
    this._pending.get(answer.request)?.resolve(answer);
  };

  /** Reconnect after an interruption: messages sent in the meantime are lost. */
  private _onConnectionStatus(
    _: Kernel.IKernelConnection,
    status: Kernel.ConnectionStatus
  ): void {
    if (status === 'connected' && this._state === 'ready') {
      void this.connect();
    }
  }

  /** Close the control comm and reject all pending requests. */
  private _closeControl(reason: FailureReason): void {
    const control = this._control;
    this._control = null;
    this._closeReason = reason;
    this._hasSubshell = false;
    control?.dispose();
    this._pending.forEach(request => request.reject(new NoAnswerError(reason)));
    this._pending.clear();
    this._setState('none');
  }

  private _setState(state: State): void {
    this._state = state;
    this._changed.emit();
  }

  private _changed = new Signal<this, void>(this);
  private _opened = new Signal<this, Opening>(this);
  private _welcomed = new Signal<this, Welcome>(this);
  private _received = new Signal<this, FromKernel>(this);
  private _pending = new Map<number, IPendingRequest>();
  private _connecting: Promise<void> | null = null;
  private _control: Kernel.IComm | null = null;
  /** Why there is no control comm. */
  private _closeReason: FailureReason = 'none';
  private _notebook: string | null = null;
  private _hasSubshell = false;
  private _requestCount = 0;
  private _restartCount = 0;
  private _state: State = 'none';
  private _isDisposed = false;
}

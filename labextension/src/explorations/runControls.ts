/**
 * Controls of runs: sent to the kernel while the run is active, applied by running the calling cell again after its
 * end.
 */
import type { TranslationBundle } from '@jupyterlab/translation';

import { KernelLink, NoAnswerError } from '../link/kernelLink';
import { isFinished } from '../link/runStatus';
import type { Control } from '../link/explorationInterface';
import type { Continue, Done, RunView, ToKernel } from '../messages';
import { localReply } from '../generatedCells/notebookActions';

type ControlFields<T = ToKernel> = T extends { run: string }
  ? Omit<T, 'run' | 'request' | 'page'>
  : never;

/** The runs that are controlled. */
export interface IControlTarget {
  link(): KernelLink | null;
  view(run: string): RunView | undefined;
  /** Whether the run's kernel is gone. */
  isLost(run: string): boolean;
  /**
   * Run the calling cell again to continue from there. Returns false if the cell is gone or no longer starts an
   * exploration.
   */
  continueFrom(given: Continue): boolean;
  /** Called when the result of `isPending` may have changed. */
  onPending(): void;
}

export class RunControls {
  constructor(
    private _target: IControlTarget,
    private _trans: TranslationBundle
  ) {}

  isPending(run: string, control: Control, of: string): boolean {
    return this._pending.has(pendingKey(run, control, of));
  }

  retry(run: string, subtask: string, hint: string): Promise<Done> {
    return this._isFinished(run)
      ? this._continueFrom({ run, subtask, hint, candidate: '', code: '' })
      : this.send(run, 'retry', subtask, { type: 'retry', subtask, hint });
  }

  choose(run: string, candidate: string): Promise<Done> {
    return this._isFinished(run)
      ? this._continueFrom({ run, subtask: '', hint: '', candidate, code: '' })
      : this.send(run, 'choose', candidate, { type: 'choose', candidate });
  }

  edit(run: string, candidate: string, code: string): Promise<Done> {
    return this._isFinished(run)
      ? this._continueFrom({ run, subtask: '', hint: '', candidate, code })
      : this.send(run, 'edit', candidate, { type: 'edit', candidate, code });
  }

  /** Send a control to the kernel. */
  async send(
    run: string,
    control: Control,
    of: string,
    asked: ControlFields
  ): Promise<Done> {
    const link = this._target.link();
    if (this._target.isLost(run) || !link) {
      return localReply(this._kernelGoneMessage());
    }
    const pending = pendingKey(run, control, of);
    this._pending.add(pending);
    this._target.onPending();
    try {
      const answer = await link.request({ ...asked, run } as ToKernel);
      return answer.type === 'done' ? answer : localReply('');
    } catch (error) {
      return localReply(this._describeError(error));
    } finally {
      this._pending.delete(pending);
      this._target.onPending();
    }
  }

  private async _continueFrom(given: Continue): Promise<Done> {
    if (this._target.isLost(given.run)) {
      return localReply(this._kernelGoneMessage());
    }
    return this._target.continueFrom(given)
      ? localReply('')
      : localReply(
          this._trans.__(
            'The cell of this exploration was deleted or no longer starts with %%explora.'
          )
        );
  }

  private _isFinished(run: string): boolean {
    const view = this._target.view(run);
    return view !== undefined && isFinished(view);
  }

  private _kernelGoneMessage(): string {
    return this._trans.__(
      'The kernel of this run is no longer available. Run the cell again.'
    );
  }

  private _describeError(error: unknown): string {
    if (!(error instanceof NoAnswerError)) {
      throw error;
    }
    switch (error.reason) {
      case 'timeout':
        return this._trans.__('The kernel did not answer in time.');
      case 'closed':
        return this._trans.__('The connection to the kernel was closed.');
      case 'none':
        return this._trans.__(
          'The kernel has not loaded the extension. Run %load_ext exploracoder_jupyter.'
        );
    }
  }

  private _pending = new Set<string>();
}

function pendingKey(run: string, control: Control, of: string): string {
  return JSON.stringify([run, control, of]);
}

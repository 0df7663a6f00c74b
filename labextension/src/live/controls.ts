/** What the user asks of runs: of the kernel while a run is under way, by running the calling cell again after that. */
import type { TranslationBundle } from '@jupyterlab/translation';

import { KernelLink, NoAnswer } from '../link/kernelLink';
import { isFinal } from '../link/runStatus';
import type { Control } from '../link/tokens';
import type { Continue, Done, RunView, ToKernel } from '../messages';
import { done } from './notebookActions';

type Asked<T = ToKernel> = T extends { run: string }
  ? Omit<T, 'run' | 'request' | 'page'>
  : never;

/** What is controlled. */
export interface IControlled {
  link(): KernelLink | null;
  view(run: string): RunView | undefined;
  /** Whether the kernel that made the run is gone. */
  isLost(run: string): boolean;
  /** Run the calling cell again, from there on; whether it is there and still calls. */
  goOn(given: Continue): boolean;
  /** `isPending` may answer otherwise. */
  onPending(): void;
}

export class Controls {
  constructor(
    private _controlled: IControlled,
    private _trans: TranslationBundle
  ) {}

  isPending(run: string, control: Control, of: string): boolean {
    return this._pending.has(nameOf(run, control, of));
  }

  retry(run: string, subtask: string, hint: string): Promise<Done> {
    return this._hasEnded(run)
      ? this._goOn({ run, subtask, hint, candidate: '' })
      : this.ask(run, 'retry', subtask, { type: 'retry', subtask, hint });
  }

  choose(run: string, candidate: string): Promise<Done> {
    return this._hasEnded(run)
      ? this._goOn({ run, subtask: '', hint: '', candidate })
      : this.ask(run, 'choose', candidate, { type: 'choose', candidate });
  }

  /** Ask the kernel. */
  async ask(
    run: string,
    control: Control,
    of: string,
    asked: Asked
  ): Promise<Done> {
    const link = this._controlled.link();
    if (this._controlled.isLost(run) || !link) {
      return done(this._restarted());
    }
    const pending = nameOf(run, control, of);
    this._pending.add(pending);
    this._controlled.onPending();
    try {
      const answer = await link.request({ ...asked, run } as ToKernel);
      return answer.type === 'done' ? answer : done('');
    } catch (error) {
      return done(this._why(error));
    } finally {
      this._pending.delete(pending);
      this._controlled.onPending();
    }
  }

  private async _goOn(given: Continue): Promise<Done> {
    if (this._controlled.isLost(given.run)) {
      return done(this._restarted());
    }
    return this._controlled.goOn(given)
      ? done('')
      : done(
          this._trans.__(
            'The cell that called is gone, or does not begin with %%explora any more.'
          )
        );
  }

  private _hasEnded(run: string): boolean {
    const view = this._controlled.view(run);
    return view !== undefined && isFinal(view);
  }

  private _restarted(): string {
    return this._trans.__(
      'The kernel that made this run is gone; run the cell again.'
    );
  }

  private _why(error: unknown): string {
    if (!(error instanceof NoAnswer)) {
      throw error;
    }
    switch (error.silence) {
      case 'timeout':
        return this._trans.__('The kernel did not answer in time.');
      case 'closed':
        return this._trans.__('The connection to the kernel was closed.');
      case 'none':
        return this._trans.__(
          'The kernel has not loaded the extension; run %load_ext exploracoder_jupyter.'
        );
    }
  }

  private _pending = new Set<string>();
}

function nameOf(run: string, control: Control, of: string): string {
  return JSON.stringify([run, control, of]);
}

/** Where an active run is: five steps, of which the present one stands out, its time, which runs on, and its tokens. */
import type { TranslationBundle } from '@jupyterlab/translation';

import { isFinished } from '../link/runStatus';
import { appendElement } from '../generatedCells/domElements';
import type { RunView } from '../messages';
import { formatCount, formatDuration } from '../shared/format';
import { RunClock } from '../sidebar/runClock';

/** The steps of a run, in order. A run may go back from `check` to `try`. */
const STEPS = ['library', 'plan', 'try', 'check', 'done'] as const;
export type Step = (typeof STEPS)[number];

/** The step that a run is at, as far as its state tells. */
export function stepOf(run: RunView): Step {
  if (isFinished(run)) {
    return 'done';
  }
  const programs = run.solution?.candidates ?? [];
  const running = programs.some(({ status }) => status === 'running');
  if (programs.length && !running) {
    return 'check';
  }
  const tried = run.subtasks.some(({ candidates }) => candidates.length > 0);
  if (tried || running) {
    return 'try';
  }
  return run.subtasks.length || run.calls ? 'plan' : 'library';
}

export class Pulse {
  constructor(
    private _trans: TranslationBundle,
    private _clock = new RunClock()
  ) {
    this.node.className = 'jp-Explora-pulse';
  }

  readonly node = document.createElement('div');

  /** Show this run, or nothing. */
  show(run: RunView | null): void {
    this._run = run && !isFinished(run) ? run : null;
    this.node.hidden = this._run === null;
    if (this._run === null) {
      this.dispose();
      return;
    }
    this._render(this._run);
    this._timer ??= window.setInterval(() => this._tick(), 1_000);
  }

  dispose(): void {
    window.clearInterval(this._timer);
    this._timer = undefined;
  }

  private _render(run: RunView): void {
    const names: Record<Step, string> = {
      library: this._trans.__('Library'),
      plan: this._trans.__('Plan'),
      try: this._trans.__('Try'),
      check: this._trans.__('Check'),
      done: this._trans.__('Done')
    };
    this.node.replaceChildren();
    const list = appendElement(this.node, 'ol', 'jp-Explora-pulse-steps');
    list.setAttribute('aria-label', this._trans.__('Progress'));
    const present = STEPS.indexOf(stepOf(run));
    STEPS.forEach((step, index) => {
      const item = appendElement(list, 'li', '', names[step]);
      item.classList.toggle('jp-mod-past', index < present);
      if (index === present) {
        item.setAttribute('aria-current', 'step');
      }
    });
    this._time = appendElement(this.node, 'span', 'jp-Explora-pulse-time');
    if (run.tokens) {
      const tokens = formatCount(run.tokens);
      const text = this._trans._n('%1 token', '%1 tokens', run.tokens);
      appendElement(this.node, 'span', '', text.replace(/^\S+/, tokens));
    }
    this._tick();
  }

  private _tick(): void {
    const seconds = this._run && this._clock.elapsed(this._run);
    if (this._time) {
      this._time.textContent = seconds === null ? '' : formatDuration(seconds);
    }
  }

  private _run: RunView | null = null;
  private _time: HTMLElement | null = null;
  private _timer: number | undefined;
}

/**
 * Changes on their way to the notebook, one after the other, a few between two frames, so that the page stays responsive
 * under a flood. What would be overwritten at once is not shown in between.
 */
import type { IDisposable } from '@lumino/disposable';

import type { IRunChange } from './applyChange';
import { onNextFrame, Schedule, onNextTask } from './scheduling';
import type { RunCellState } from './runCellState';

/** How long changes may go on between two frames, in milliseconds. The first one may take longer. */
const FRAME_BUDGET = 25;

export class ChangeQueue implements IDisposable {
  /**
   * @param apply - applies one change
   * @param start - when to begin
   * @param goOn - when to go on
   * @param clock - in milliseconds
   */
  constructor(
    private _apply: (item: IRunChange) => void,
    private _start: Schedule = onNextTask,
    private _continue: Schedule = onNextFrame,
    private _clock: () => number = () => performance.now()
  ) {}

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  add(changes: readonly IRunChange[]): void {
    changes.forEach(item => this._merge(item));
    this._scheduleStep(this._start);
  }

  /** Forget what is still to come of a run. */
  drop(run: RunCellState): void {
    this._items = this._items.filter(item => item.run !== run);
  }

  dispose(): void {
    this._isDisposed = true;
    this._items = [];
  }

  /** A change of a cell that has one waiting takes its place. */
  private _merge(item: IRunChange): void {
    const { change, run } = item;
    const at = this._items
      .map(other => other.run === run && other.change.id === change.id)
      .lastIndexOf(true);
    const waiting = this._items[at]?.change;
    if (!waiting || waiting.action === 'remove' || change.action === 'remove') {
      this._items.push(item);
    } else {
      this._items[at] = { run, change: { ...waiting, cell: change.cell } };
    }
  }

  private _scheduleStep(schedule: Schedule): void {
    if (!this._scheduled) {
      this._scheduled = true;
      schedule(() => this._step());
    }
  }

  /** It goes to sleep only after a frame without changes: those that come meanwhile wait for that frame. */
  private _step(): void {
    const until = this._clock() + FRAME_BUDGET;
    this._scheduled = false;
    if (this._items.length) {
      try {
        this._applyUntil(until);
      } finally {
        this._scheduleStep(this._continue);
      }
    }
  }

  private _applyUntil(until: number): void {
    do {
      this._apply(this._items.shift()!);
    } while (this._items.length && this._clock() < until);
  }

  private _items: IRunChange[] = [];
  private _scheduled = false;
  private _isDisposed = false;
}

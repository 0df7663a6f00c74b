/**
 * Applies changes to the notebook in order, a few between two frames, so that the page stays responsive under a flood
 * of changes. States that would be overwritten at once are skipped.
 */
import type { IDisposable } from '@lumino/disposable';

import type { IRunChange } from '../generatedCells/applyCellChange';
import {
  onNextFrame,
  Schedule,
  onNextTask
} from '../generatedCells/scheduling';
import type { RunCellState } from '../generatedCells/runCellState';

/** Time for changes between two frames, in milliseconds. The first change may take longer. */
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

  /** Drop the pending changes of a run. */
  drop(run: RunCellState): void {
    this._items = this._items.filter(item => item.run !== run);
  }

  /** Resolves when no change is pending. */
  whenEmpty(): Promise<void> {
    return this._items.length
      ? new Promise(resolve => this._waiting.push(resolve))
      : Promise.resolve();
  }

  dispose(): void {
    this._isDisposed = true;
    this._items = [];
  }

  /** Queue a change. It replaces a pending change of the same cell. */
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

  /** The queue stops only after a frame without changes: changes that arrive in the meantime wait for that frame. */
  private _step(): void {
    const until = this._clock() + FRAME_BUDGET;
    this._scheduled = false;
    if (this._items.length) {
      try {
        this._applyUntil(until);
      } finally {
        this._scheduleStep(this._continue);
      }
    } else {
      this._waiting.splice(0).forEach(resolve => resolve());
    }
  }

  private _applyUntil(until: number): void {
    do {
      this._apply(this._items.shift()!);
    } while (this._items.length && this._clock() < until);
  }

  private _items: IRunChange[] = [];
  private _waiting: (() => void)[] = [];
  private _scheduled = false;
  private _isDisposed = false;
}

/**
 * Changes on their way to the notebook, a few per frame, so that the page stays responsive under a flood. How many
 * depends on how long the last ones took. What would be overwritten at once is not shown in between.
 */
import type { IDisposable } from '@lumino/disposable';

import type { IRunChange } from './applier';
import type { RunCells } from './runCells';

/** How long the changes of one frame should take, in milliseconds. */
const AIM = 16;
const MOST = 64;
/** A tab in the background draws no frames. */
const LATEST = 200;

/** When to go on: calls back once. */
export type Schedule = (next: () => void) => void;

export class ChangeQueue implements IDisposable {
  /**
   * @param apply - applies changes, in order
   * @param schedule - when to go on
   * @param clock - in milliseconds
   */
  constructor(
    private _apply: (changes: readonly IRunChange[]) => void,
    private _schedule: Schedule = nextFrame,
    private _clock: () => number = () => performance.now()
  ) {}

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  add(changes: readonly IRunChange[]): void {
    changes.forEach(item => this._merge(item));
    this._wake();
  }

  /** Forget what is still to come of a run. */
  drop(run: RunCells): void {
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

  private _wake(): void {
    if (!this._awake && this._items.length) {
      this._awake = true;
      this._schedule(() => this._step());
    }
  }

  private _step(): void {
    this._awake = false;
    if (this._isDisposed) {
      return;
    }
    const now = this._items.splice(0, this._many);
    if (now.length) {
      const begun = this._clock();
      this._apply(now);
      this._pace(now.length, this._clock() - begun);
    }
    this._wake();
  }

  private _pace(count: number, took: number): void {
    const fits = Math.floor((count * AIM) / Math.max(took, 0.1));
    this._many = Math.max(1, Math.min(MOST, fits, this._many * 2));
  }

  private _many = 4;
  private _items: IRunChange[] = [];
  private _awake = false;
  private _isDisposed = false;
}

function nextFrame(next: () => void): void {
  let done = false;
  const once = () => {
    if (!done) {
      done = true;
      next();
    }
  };
  requestAnimationFrame(once);
  setTimeout(once, LATEST);
}

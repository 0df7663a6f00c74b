/** The runs reported by the kernel, oldest first. When the kernel is gone they are kept as ended. */
import { isFinished } from '../link/runStatus';
import type { RunView } from '../messages';

export class KnownRuns {
  /** @param _now - seconds since the epoch, by the browser's clock */
  constructor(private _now: () => number = () => Date.now() / 1000) {}

  get all(): RunView[] {
    return [...this._runs.values()].filter(({ key }) => !this._undone.has(key));
  }

  /** Leave out a run from now on: the user has undone it. */
  markUndone(key: string): void {
    this._undone.add(key);
  }

  get(key: string): RunView | undefined {
    return this._runs.get(key);
  }

  /** Store the state of a run. A late message does not reactivate a run that has ended. */
  put(received: RunView): void {
    const run = this._toBrowserClock(received);
    const known = this._runs.get(run.key);
    if (this._lost.delete(run.key)) {
      this._undone.delete(run.key);
      this._runs.delete(run.key); // the key now belongs to a new run
    } else if (known && isFinished(known) && !isFinished(run)) {
      return;
    }
    this._runs.set(run.key, run);
  }

  /**
   * Mark all runs as lost because the kernel is gone. `activity` is shown for those that were active. Another kernel
   * may reuse their keys.
   */
  markLost(activity: string): void {
    for (const run of this.all) {
      this._lost.add(run.key);
      if (!isFinished(run)) {
        const ended = run.ended ?? run.waiting_since ?? this._now();
        const end = { status: 'stopped', activity, ended } as const;
        this._runs.set(run.key, { ...run, ...end });
      }
    }
    this._clockOffset = null;
  }

  /**
   * Convert the run's times to the browser's clock. Messages take time to arrive, more so on a busy page, so the
   * fastest message gives the best estimate of the clock offset.
   */
  private _toBrowserClock(run: RunView): RunView {
    const { now } = run;
    // An older kernel does not send its time.
    if (typeof now !== 'number') {
      return { ...run, now: null };
    }
    const ahead = this._now() - now;
    this._clockOffset = Math.min(ahead, this._clockOffset ?? ahead);
    const ours = (time: number | null) => time && time + this._clockOffset!;
    return {
      ...run,
      now: now + this._clockOffset,
      started: ours(run.started),
      ended: ours(run.ended),
      waiting_since: ours(run.waiting_since)
    };
  }

  /** Whether the run's kernel is gone. */
  isLost(key: string): boolean {
    return this._lost.has(key);
  }

  /** Whether this is the newest run of its calling cell. */
  isNewest(key: string): boolean {
    return this._siblings(key).pop()?.key === key;
  }

  /** The earlier runs of its calling cell. */
  earlier(key: string): RunView[] {
    const siblings = this._siblings(key);
    return siblings.slice(0, siblings.indexOf(this._runs.get(key)!));
  }

  private _siblings(key: string): RunView[] {
    const cell = this._runs.get(key)?.cell;
    return this.all.filter(run => run.cell === cell);
  }

  /** Upper bound of how many seconds the browser's clock is ahead of the kernel's. */
  private _clockOffset: number | null = null;
  private _runs = new Map<string, RunView>();
  private _undone = new Set<string>();
  private _lost = new Set<string>();
}

/**
 * How long a run has lasted, by the browser's clock, which may be ahead of the kernel's or behind it.
 */
import type { RunView } from '../messages';

/** Remembers for each run by how much the two clocks differ, as its first state told. */
export class Clock {
  constructor(private now: () => number = () => Date.now() / 1000) {}

  /** Seconds from the start of the run to its end, or to now; `null` before it has started. */
  elapsed(run: RunView): number | null {
    if (run.started === null) {
      return null;
    }
    const ended = run.ended ?? this.now() - this.ahead(run, run.started);
    return Math.max(0, ended - run.started);
  }

  /**
   * By how many seconds the browser's clock is ahead. A run that is seen first while it starts has just started; of
   * one that is seen later only this much is sure, that it did not start in the future.
   */
  private ahead(run: RunView, started: number): number {
    const key = `${run.key} ${started}`;
    const known = this.known.get(key);
    if (known !== undefined) {
      return known;
    }
    const difference = this.now() - started;
    const fresh = run.status === 'starting' && run.subtasks.length === 0;
    const ahead = fresh ? difference : Math.min(0, difference);
    this.known.set(key, ahead);
    return ahead;
  }

  private known = new Map<string, number>();
}

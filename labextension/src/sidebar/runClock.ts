/**
 * How long a run has lasted, by the browser's clock. Where the kernel says what time it is, `KnownRuns` has put the times
 * of its runs on that clock; those of an older kernel may be ahead of it or behind.
 */
import type { RunView } from '../messages';

/** Remembers for each run when it started, by the browser's clock, as its first state told. */
export class RunClock {
  constructor(private now: () => number = () => Date.now() / 1000) {}

  /** Seconds that the run took, or has taken by now, but for waiting for the user; `null` before it has started. */
  elapsed(run: RunView): number | null {
    if (run.started === null) {
      return null;
    }
    const until = run.ended ?? run.waiting_since;
    const start = run.now === null ? this.start(run, run.started) : run.started;
    const seconds = until === null ? this.now() - start : until - run.started;
    return Math.max(0, seconds - run.waited);
  }

  /**
   * A run that is seen first while it starts has just started; of one that is seen later only this much is sure, that
   * it did not start in the future.
   */
  private start(run: RunView, started: number): number {
    const known = this.starts.get(run.key);
    if (known !== undefined) {
      return known;
    }
    const fresh = run.status === 'starting' && run.subtasks.length === 0;
    const start = fresh ? this.now() : Math.min(started, this.now());
    this.starts.set(run.key, start);
    return start;
  }

  private starts = new Map<string, number>();
}

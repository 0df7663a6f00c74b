/**
 * The duration of a run by the browser's clock. If the kernel sends its time, `KnownRuns` has converted the times of
 * its runs to that clock. Times of an older kernel may be ahead or behind.
 */
import type { RunView } from '../messages';

/** Records when each run started by the browser's clock, as of its first state. */
export class RunClock {
  constructor(private now: () => number = () => Date.now() / 1000) {}

  /**
   * Seconds that the run took or has taken so far, without the time that it waited for the user; `null` before it has
   * started.
   */
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
   * The start time. A run that is first seen while starting has just started. For one that is seen later, it is only
   * certain that it did not start in the future.
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

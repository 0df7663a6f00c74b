/** Classification of run statuses. */
import type { RunView } from '../messages';

const FINAL: ReadonlySet<RunView['status']> = new Set([
  'solved',
  'unchecked',
  'unsolved',
  'stopped',
  'failed'
]);

/** Whether the run has ended. */
export function isFinished(run: RunView): boolean {
  return FINAL.has(run.status);
}

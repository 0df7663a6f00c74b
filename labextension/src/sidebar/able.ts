/**
 * What can be asked for at the moment: a control that could not work is not shown.
 */
import type { CandidateView, RunView, SubtaskView } from '../messages';
import type { IExplorationModel } from '../link/tokens';

const FINAL = new Set<RunView['status']>([
  'solved',
  'unchecked',
  'unsolved',
  'stopped',
  'failed'
]);

/** Whether nothing more will come of the run by itself. */
export function over(run: RunView): boolean {
  return FINAL.has(run.status);
}

/** Whether the kernel can hear controls, at once or when the running cell has ended. */
export function reachable(model: Pick<IExplorationModel, 'link'>): boolean {
  return model.link === 'ready' || model.link === 'waiting';
}

export function canStop(run: RunView): boolean {
  return !over(run) && run.status !== 'stopping';
}

export function canEditPlan(run: RunView): boolean {
  return run.status === 'running' && run.solution === null;
}

export function canSkip(run: RunView, subtask: SubtaskView): boolean {
  return run.status === 'running' && subtask.status === 'exploring';
}

/** Steering goes on in a run, and, by executing the calling cell again, after its end. */
function steerable(run: RunView): boolean {
  return run.status === 'running' || (over(run) && run.cell !== null);
}

export function canRetry(run: RunView, subtask: SubtaskView): boolean {
  return (
    steerable(run) &&
    subtask.id !== run.solution?.id &&
    subtask.status !== 'planned'
  );
}

export function canChoose(
  run: RunView,
  subtask: SubtaskView,
  candidate: CandidateView
): boolean {
  return (
    steerable(run) && candidate.selectable && subtask.selected !== candidate.id
  );
}

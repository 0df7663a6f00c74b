/**
 * Which controls are available. Controls that cannot work are not shown.
 */
import { isFinished } from './runStatus';
import type { INotebookExplorations } from './explorationInterface';
import type { CandidateView, RunView, SubtaskView } from '../messages';

/** Whether the kernel handles controls, at once or when the running cell has ended. */
export function acceptsControls(
  model: Pick<INotebookExplorations, 'link'>
): boolean {
  return model.link === 'ready' || model.link === 'waiting';
}

export function canStop(run: RunView): boolean {
  return !isFinished(run) && run.status !== 'stopping';
}

export function canExploreNow(run: RunView): boolean {
  return run.status === 'running' && run.may_explore_now === true;
}

export function canEditPlan(run: RunView): boolean {
  const toCome = run.subtasks.some(({ status }) =>
    ['planned', 'exploring'].includes(status)
  );
  return run.status === 'running' && run.solution === null && toCome;
}

export function canSkip(run: RunView, subtask: SubtaskView): boolean {
  return run.status === 'running' && subtask.status === 'exploring';
}

/** Whether the run can be controlled: while it runs and, by executing the calling cell again, after its end. */
function canControl(run: RunView): boolean {
  return run.status === 'running' || (isFinished(run) && run.cell !== null);
}

/** Whether a candidate of the subtask can be edited and run. */
export function canEdit(run: RunView, subtask: SubtaskView): boolean {
  return canRetry(run, subtask);
}

export function canRetry(run: RunView, subtask: SubtaskView): boolean {
  return (
    canControl(run) &&
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
    canControl(run) && candidate.selectable && subtask.selected !== candidate.id
  );
}

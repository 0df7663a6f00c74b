/** Why candidates cannot be used or edited, or what that means, in one sentence. */
import type { TranslationBundle } from '@jupyterlab/translation';

import { isFinished } from '../link/runStatus';
import type { INotebookExplorations } from '../link/explorationInterface';
import type { RunView, SubtaskView } from '../messages';
import { acceptsControls } from '../link/controlAvailability';

/** Whether the run can be controlled from this page. An ended run is continued by its calling cell. */
export function canControlRun(
  run: RunView,
  model: INotebookExplorations
): boolean {
  return (
    acceptsControls(model) &&
    (isFinished(run) ? model.hasCaller(run.key) : run.status === 'running')
  );
}

/** What the user has to know about the controls; empty if there is nothing to say. */
export function controlNote(
  run: RunView,
  subtask: SubtaskView,
  model: INotebookExplorations,
  trans: TranslationBundle
): string {
  if (subtask.id === run.solution?.id) {
    return trans.__(
      'The run selects its solution by the check, so another one cannot be used or edited here.'
    );
  }
  if (!acceptsControls(model)) {
    return trans.__(
      'The kernel of this run is not connected, so candidates can only be compared.'
    );
  }
  if (isFinished(run)) {
    return model.hasCaller(run.key)
      ? trans.__(
          'The run has ended. Using or editing a candidate explores again from there.'
        )
      : trans.__(
          'The run has ended and its cell is not in this notebook, so candidates can only be compared.'
        );
  }
  return run.status === 'running'
    ? ''
    : trans.__('Candidates can be used and edited while the run is active.');
}

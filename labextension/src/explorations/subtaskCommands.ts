/** The commands that skip and retry a subtask of the active cell's run, or else of the latest one. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { InputDialog } from '@jupyterlab/apputils';
import type { INotebookTracker } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';

import { reportProblem } from './explorationCommands';
import { isFinished } from '../link/runStatus';
import { markOf } from '../generatedCells/generatedCell';
import { replacementWarning } from '../shared/sharedWording';
import type {
  INotebookExplorations,
  IExplorations
} from '../link/explorationInterface';
import type { RunView, SubtaskView } from '../messages';
import { describeCell, runOfCell } from './activeCell';
import {
  acceptsControls,
  canRetry,
  canSkip
} from '../link/controlAvailability';

export const SubtaskCommandIDs = {
  skip: 'exploracoder:skip',
  retry: 'exploracoder:retry'
} as const;

interface ISubject {
  model: INotebookExplorations;
  run: RunView;
}

export function addSubtaskCommands(
  { commands }: JupyterFrontEnd,
  explorations: IExplorations,
  tracker: INotebookTracker,
  trans: TranslationBundle
): void {
  const describedBy = { args: { type: 'object', properties: {} } };
  const subject = () => findSubject(explorations, tracker);
  const toSkip = () => subtaskOf(subject(), canSkip);
  const toRetry = () => subtaskOf(subject(), canRetry, markedSubtask(tracker));
  commands.addCommand(SubtaskCommandIDs.skip, {
    label: trans.__('Skip Subtask of Exploration'),
    caption: trans.__('Abandon the current subtask and continue with the next'),
    describedBy,
    isEnabled: () => toSkip() !== null,
    execute: () => {
      const found = toSkip();
      return found && reportProblem(found.model.skip(found.run.key, found.id));
    }
  });
  commands.addCommand(SubtaskCommandIDs.retry, {
    label: trans.__('Retry Subtask of Exploration…'),
    caption: trans.__(
      'Explore the subtask of the active cell, or the latest one, again with a hint'
    ),
    describedBy,
    isEnabled: () => toRetry() !== null,
    execute: async () => {
      const found = toRetry();
      const hint = found && (await askHint(found.run, found.title, trans));
      return found && hint !== null
        ? reportProblem(found.model.retry(found.run.key, found.id, hint))
        : undefined;
    }
  });
}

/** The run of the active cell, or else the latest one. */
export function findSubject(
  { current }: IExplorations,
  tracker: INotebookTracker
): ISubject | null {
  const runs = current?.runs ?? [];
  const run = runOfCell(runs, describeCell(tracker.activeCell)) ?? runs.at(-1);
  return current && run ? { model: current, run } : null;
}

/** The wanted subtask if it can be acted on, or else the last one that can. */
function subtaskOf(
  subject: ISubject | null,
  can: (run: RunView, subtask: SubtaskView) => boolean,
  wanted?: string
): (ISubject & { id: string; title: string }) | null {
  if (!subject || !acceptsControls(subject.model)) {
    return null;
  }
  const { subtasks } = subject.run;
  const possible = subtasks.filter(each => can(subject.run, each));
  const found = possible.find(({ id }) => id === wanted) ?? possible.at(-1);
  return found ? { ...subject, id: found.id, title: found.title } : null;
}

function markedSubtask(tracker: INotebookTracker): string | undefined {
  const cell = tracker.activeCell;
  return cell ? markOf(cell.model)?.subtask : undefined;
}

/** The hint, which may be empty; `null` if the user canceled. */
async function askHint(
  run: RunView,
  title: string,
  trans: TranslationBundle
): Promise<string | null> {
  const hint = trans.__('Hint for the model (optional)');
  const { button, value } = await InputDialog.getText({
    title: trans.__('Retry “%1”', title),
    label: isFinished(run) ? `${replacementWarning(trans)} ${hint}` : hint,
    okLabel: trans.__('Retry')
  });
  return button.accept ? (value ?? '').trim() : null;
}

/** The commands that explore what is in a cell: its error, a selection, a comment. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { INotebookTracker, NotebookActions } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';

import { SHOW_SIDEBAR } from '../sidebar/hostServices';
import { explorationIcon } from '../shared/icons';
import type { ITask } from './callingCellSource';
import type { FormServices } from './formServices';
import { correctionTask, failedCellError } from './failedCell';
import { usedLibraries } from './librariesOfCell';
import { wordsAtCursor } from './wordsAtCursor';

export const CellCommandIDs = {
  exploreError: 'exploracoder:explore-error',
  exploreSelection: 'exploracoder:explore-selection'
} as const;

const NO_ARGS = { args: { type: 'object', properties: {} } };

export function addCellCommands(
  app: JupyterFrontEnd,
  forms: FormServices,
  tracker: INotebookTracker,
  trans: TranslationBundle
): void {
  const { commands, contextMenu } = app;
  const showForm = (draft: Partial<ITask>) => {
    forms.show('new', draft);
    return commands.execute(SHOW_SIDEBAR);
  };
  const hasError = () => failedCellError(tracker.activeCell) !== null;
  commands.addCommand(CellCommandIDs.exploreError, {
    label: trans.__('Explore This Error'),
    caption: trans.__('Explore how to correct this cell'),
    icon: explorationIcon,
    describedBy: NO_ARGS,
    isEnabled: hasError,
    isVisible: hasError,
    execute: () => {
      const cell = tracker.activeCell;
      const error = failedCellError(cell);
      if (!cell || error === null) {
        return undefined;
      }
      const task = correctionTask(cell, error, forms.notebookCode());
      return task.libraries ? forms.explore(task) : showForm(task);
    }
  });
  const hasWords = () => wordsAtCursor(tracker.activeCell) !== '';
  commands.addCommand(CellCommandIDs.exploreSelection, {
    label: trans.__('Explore This…'),
    caption: trans.__('Explore how to do what the selection or comment says'),
    icon: explorationIcon,
    describedBy: NO_ARGS,
    isEnabled: hasWords,
    isVisible: hasWords,
    execute: () => {
      const code = tracker.activeCell?.model.sharedModel.getSource() ?? '';
      const libraries = usedLibraries(code, forms.notebookCode());
      return showForm({
        libraries: libraries.join(', '),
        task: wordsAtCursor(tracker.activeCell)
      });
    }
  });
  Object.values(CellCommandIDs).forEach((command, index) =>
    contextMenu.addItem({
      command,
      selector: '.jp-Notebook .jp-CodeCell',
      rank: 10 + index
    })
  );
  followActiveCell(app, forms, tracker);
}

/** Update the button in the cell's toolbar when it may apply or not apply any more. */
function followActiveCell(
  { commands }: JupyterFrontEnd,
  forms: FormServices,
  tracker: INotebookTracker
): void {
  const update = () =>
    commands.notifyCommandChanged(CellCommandIDs.exploreError);
  tracker.activeCellChanged.connect(update);
  forms.changed.connect(update); // the failed cell may have been replaced
  NotebookActions.executed.connect(update);
  NotebookActions.outputCleared.connect(update);
}

/**
 * What a newcomer may type: it works with the standard library and without a model, in seconds.
 */
import { NotebookActions } from '@jupyterlab/notebook';
import type { Notebook } from '@jupyterlab/notebook';

export const LOAD = '%load_ext exploracoder_jupyter';

export const EXPLORE = `%%explora statistics --check "assert middle == 3 and line.slope == 2"
Compute the median of [7, 1, 3] and store it in \`middle\`;
then compute the linear regression of [1, 2, 3, 4] and [3, 5, 7, 9] and store it in \`line\``;

/** The sources of the example's cells. `loaded`: whether the kernel has loaded the extension. */
export function example(loaded: boolean): string[] {
  return loaded ? [EXPLORE] : [LOAD, EXPLORE];
}

/**
 * Insert the example below the active cell, or above it if that is empty, in one step to undo, and make its first cell
 * the active one.
 */
export function insertExample(notebook: Notebook, loaded: boolean): void {
  const cells = notebook.model?.sharedModel;
  if (!cells) {
    return;
  }
  const active = notebook.activeCell;
  const empty = active?.model.sharedModel.getSource().trim() === '';
  const at = active ? notebook.activeCellIndex + (empty ? 0 : 1) : 0;
  cells.insertCells(
    at,
    example(loaded).map(source => ({ cell_type: 'code', source }))
  );
  notebook.deselectAll();
  notebook.activeCellIndex = at;
  void NotebookActions.focusActiveCell(notebook);
}

/**
 * Inserts the example below the active cell, or above it if that is empty, as one undo step, and activates its first
 * cell.
 */
import { NotebookActions } from '@jupyterlab/notebook';
import type { Notebook } from '@jupyterlab/notebook';

import { exampleCells } from './example';

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
    exampleCells(loaded).map(source => ({ cell_type: 'code', source }))
  );
  notebook.deselectAll();
  notebook.activeCellIndex = at;
  void NotebookActions.focusActiveCell(notebook);
}

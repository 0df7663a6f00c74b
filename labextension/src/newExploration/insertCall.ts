/**
 * Writes a calling cell into the notebook and runs it, after a cell that loads the extension if the kernel has not
 * loaded it.
 */
import type { ISharedNotebook } from '@jupyter/ydoc';
import type { Cell } from '@jupyterlab/cells';
import type { JSONObject } from '@lumino/coreutils';
import { NotebookActions, NotebookPanel } from '@jupyterlab/notebook';

import { asOneUndoStep } from '../generatedCells/cellRemoval';
import { markOf } from '../generatedCells/generatedCell';
import { showCell } from '../generatedCells/notebookActions';
import { LOAD_CELL } from '../sidebar/example';

/** Insert and run the cell, with this metadata. Returns the calling cell's id, or `null` if there is no notebook model. */
export function insertCall(
  panel: NotebookPanel,
  source: string,
  loaded: boolean,
  metadata: JSONObject = {}
): string | null {
  const notebook = panel.content.model?.sharedModel;
  if (!notebook) {
    return null;
  }
  const loading = loaded ? null : loadingCell(notebook);
  const sources = loaded || loading ? [source] : [LOAD_CELL, source];
  const index = insertionIndex(panel);
  asOneUndoStep(notebook, () =>
    notebook.insertCells(
      index,
      sources.map(text => ({
        cell_type: 'code',
        source: text,
        metadata: { trusted: true, ...(text === source ? metadata : {}) }
      }))
    )
  );
  const ids = sources.map((_, at) => notebook.getCell(index + at).getId());
  const call = ids[ids.length - 1];
  showCell(panel, call, true);
  void runCells(panel, loading ? [loading, ...ids] : ids);
  return call;
}

/** Run the cell that loads the extension; if there is none, insert it at the top of the notebook. */
export function loadInto(panel: NotebookPanel): void {
  const notebook = panel.content.model?.sharedModel;
  if (!notebook) {
    return;
  }
  let loading = loadingCell(notebook);
  if (loading === null) {
    asOneUndoStep(notebook, () =>
      notebook.insertCell(0, {
        cell_type: 'code',
        source: LOAD_CELL,
        metadata: { trusted: true }
      })
    );
    loading = notebook.getCell(0).getId();
  }
  void runCells(panel, [loading]);
}

/** Run these cells in order. */
export async function runCells(
  panel: NotebookPanel,
  ids: readonly string[]
): Promise<void> {
  const { widgets } = panel.content;
  const cells = ids.flatMap<Cell>(
    id => widgets.find(cell => cell.model.id === id) ?? []
  );
  await NotebookActions.runCells(
    panel.content,
    cells,
    panel.sessionContext
  ).catch(() => undefined); // errors are shown below the cells
}

/** The id of the first cell that loads the extension and nothing else, if there is one. */
export function loadingCell(notebook: ISharedNotebook): string | null {
  const found = notebook.cells.find(
    cell => cell.cell_type === 'code' && cell.getSource().trim() === LOAD_CELL
  );
  return found?.getId() ?? null;
}

/** Below the active cell and the exploration that it belongs to; above it if it is empty. */
function insertionIndex(panel: NotebookPanel): number {
  const { activeCell, activeCellIndex, model } = panel.content;
  const active = activeCell?.model.sharedModel;
  if (!active) {
    return 0;
  }
  const caller = markOf(active)?.caller ?? active.getId();
  const cells = model?.sharedModel.cells ?? [];
  const last = cells
    .map(cell => cell.getId() === caller || markOf(cell)?.caller === caller)
    .lastIndexOf(true);
  const isEmpty = active.getSource().trim() === '';
  return isEmpty ? activeCellIndex : Math.max(last, activeCellIndex) + 1;
}

/** Offers to load the extension when a calling cell failed because its kernel has not loaded it. */
import type { ISharedCodeCell } from '@jupyter/ydoc';
import { Notification } from '@jupyterlab/apputils';
import type { Cell } from '@jupyterlab/cells';
import {
  INotebookTracker,
  Notebook,
  NotebookActions,
  NotebookPanel
} from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';

import { isCallingCell } from '../generatedCells/callingCells';
import { asOneUndoStep } from '../generatedCells/cellRemoval';
import { LOAD_CELL } from '../sidebar/example';
import { loadingCell, runCells } from './insertCall';

const UNKNOWN_MAGIC = /Cell magic `?%%explora`? not found/;

export function offerToLoadExtension(
  tracker: INotebookTracker,
  trans: TranslationBundle
): void {
  NotebookActions.executed.connect((_, { notebook, cell, success }) => {
    const panel = tracker.find(each => each.content === notebook);
    if (!success && panel && lacksExtension(cell)) {
      showOffer(panel, cell.model.id, trans);
    }
  });
}

/** Whether the outputs of a calling cell say that its magic is not known. */
export function lacksExtension(cell: Cell): boolean {
  const shared = cell.model.sharedModel as ISharedCodeCell;
  return (
    cell.model.type === 'code' &&
    isCallingCell(shared) &&
    UNKNOWN_MAGIC.test(JSON.stringify(shared.getOutputs()))
  );
}

function showOffer(
  panel: NotebookPanel,
  call: string,
  trans: TranslationBundle
): void {
  const message = trans.__('This kernel has not loaded exploracoder_jupyter.');
  Notification.warning(message, {
    autoClose: false,
    actions: [
      {
        label: trans.__('Load it and run the cell again'),
        displayType: 'accent',
        callback: () => loadAndRun(panel, call)
      }
    ]
  });
}

/** Write a cell that loads the extension above the calling cell, unless there is one, and run both. */
export function loadAndRun(panel: NotebookPanel, call: string): void {
  const notebook: Notebook = panel.content;
  const cells = notebook.model?.sharedModel;
  const index = cells?.cells.findIndex(cell => cell.getId() === call) ?? -1;
  if (!cells || index < 0) {
    return;
  }
  let loading = loadingCell(cells);
  if (loading === null) {
    asOneUndoStep(cells, () =>
      cells.insertCell(index, {
        cell_type: 'code',
        source: LOAD_CELL,
        metadata: { trusted: true }
      })
    );
    loading = cells.getCell(index).getId();
  }
  void runCells(panel, [loading, call]);
}

/**
 * Offers to load the extension when a calling cell failed because its kernel has not loaded it. Where the kernel's
 * environment lacks the package, shows the command that installs it there.
 */
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
const UNKNOWN_PACKAGE = /No module named '?exploracoder_jupyter/;
/** Evaluated in the kernel: the path of its interpreter if the package is missing there, else an empty string. */
const INTERPRETER =
  "'' if __import__('importlib.util').util.find_spec('exploracoder_jupyter') else __import__('sys').executable";

export function offerToLoadExtension(
  tracker: INotebookTracker,
  trans: TranslationBundle
): void {
  NotebookActions.executed.connect((_, { notebook, cell, success }) => {
    const panel = tracker.find(each => each.content === notebook);
    if (!success && panel && lacksExtension(cell)) {
      void showRemedy(panel, cell.model.id, trans);
    }
  });
}

/**
 * Whether the outputs of a calling cell say that its magic is not known, or those of the cell that loads the extension
 * that there is no such package.
 */
export function lacksExtension(cell: Cell): boolean {
  if (cell.model.type !== 'code') {
    return false;
  }
  const shared = cell.model.sharedModel as ISharedCodeCell;
  const outputs = JSON.stringify(shared.getOutputs());
  return isCallingCell(shared)
    ? UNKNOWN_MAGIC.test(outputs)
    : shared.getSource().trim() === LOAD_CELL && UNKNOWN_PACKAGE.test(outputs);
}

async function showRemedy(
  panel: NotebookPanel,
  call: string,
  trans: TranslationBundle
): Promise<void> {
  const python = await interpreterWithoutPackage(panel);
  if (!python) {
    showOffer(panel, call, trans);
    return;
  }
  const message = trans.__(
    'The environment of this kernel does not have exploracoder_jupyter. Install it there, then run the cell again: %1',
    `"${python}" -m pip install exploracoder-jupyter`
  );
  Notification.warning(message, { autoClose: false });
}

/** The kernel's interpreter if the package is not installed for it; empty otherwise, or if the kernel does not say. */
async function interpreterWithoutPackage(
  panel: NotebookPanel
): Promise<string> {
  const kernel = panel.sessionContext.session?.kernel;
  const reply = await kernel?.requestExecute({
    code: '',
    silent: true,
    store_history: false,
    user_expressions: { python: INTERPRETER }
  }).done;
  if (reply?.content.status !== 'ok') {
    return '';
  }
  const found = reply.content.user_expressions.python as
    { data?: Record<string, string> } | undefined;
  return (found?.data?.['text/plain'] ?? '').replace(/^'|'$/g, '');
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

/** What is done in a notebook's view on the user's behalf. */
import type { ISessionContext } from '@jupyterlab/apputils';
import { CodeCell } from '@jupyterlab/cells';
import { NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import type { JSONObject } from '@lumino/coreutils';

import type { Done } from '../messages';
import { inOneStep } from './removal';

/** An answer that the page gives itself. */
export function done(problem: string): Done {
  return { type: 'done', request: 0, problem, said: '', link: '' };
}

/** Scroll to the cell, make it the active one and perhaps focus it; whether it is there. */
export function show(
  panel: NotebookPanel,
  id: string,
  focus: boolean
): boolean {
  const notebook = panel.content;
  const cell = notebook.widgets.find(widget => widget.model.id === id);
  if (!cell) {
    return false;
  }
  NotebookActions.expandParent(cell, notebook);
  notebook.deselectAll();
  const index = notebook.widgets.indexOf(cell);
  notebook.activeCellIndex = index;
  // Not `scrollToCell`: that puts the focus into the editor.
  const there = notebook.scrollToItem(index);
  const focused = focus
    ? there.then(() => NotebookActions.focusActiveCell(notebook))
    : there;
  void focused.catch(() => undefined);
  return true;
}

/** Insert a code cell below the active one and make it active; whether that can be done. */
export function insertBelow(panel: NotebookPanel, source: string): boolean {
  const { content } = panel;
  const notebook = content.model?.sharedModel;
  if (!notebook) {
    return false;
  }
  const index = content.activeCell ? content.activeCellIndex + 1 : 0;
  inOneStep(notebook, () => {
    const metadata = { trusted: true };
    notebook.insertCell(index, { cell_type: 'code', source, metadata });
  });
  content.activeCellIndex = index;
  return true;
}

/** Execute a cell with something more in the metadata of the request; nothing of it is left in the notebook. */
export function execute(
  cell: CodeCell,
  session: ISessionContext,
  metadata: JSONObject
): void {
  // What goes wrong is shown below the cell.
  CodeCell.execute(cell, session, metadata).catch(() => undefined);
}

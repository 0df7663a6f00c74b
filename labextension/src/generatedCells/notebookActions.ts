/** Actions in a notebook's view on the user's behalf. */
import type { ISharedCell, ISharedNotebook } from '@jupyter/ydoc';
import { CodeCell } from '@jupyterlab/cells';
import { NotebookActions, NotebookPanel } from '@jupyterlab/notebook';

import type { IRunCell } from '../link/explorationInterface';
import type { Continue, Done, RunView } from '../messages';
import { isCallingCell } from './callingCells';
import { IMark, markOf, NAMESPACE } from './generatedCell';
import { asOneUndoStep } from './cellRemoval';

/** A reply that is made by the page, not the kernel. */
export function localReply(problem: string): Done {
  return { type: 'done', request: 0, problem, said: '', link: '' };
}

/** Scroll to the cell, make it active and optionally focus it. Returns whether it exists. */
export function showCell(
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
  if (focus) {
    notebook.mode = 'command';
  }
  // Not `scrollToCell`, which would focus the editor.
  const there = notebook.scrollToItem(index);
  const focused = focus
    ? there.then(() => NotebookActions.focusActiveCell(notebook))
    : there;
  void focused.catch(() => undefined);
  return true;
}

/** Scroll to the result card of a calling cell, unless the user is typing elsewhere. */
export function showCard(panel: NotebookPanel, id: string): void {
  const notebook = panel.content;
  const index = notebook.widgets.findIndex(cell => cell.model.id === id);
  const active = notebook.activeCell;
  const typing =
    notebook.mode === 'edit' && !!active?.model.sharedModel.getSource().trim();
  if (index === -1 || (typing && notebook.activeCellIndex !== index)) {
    return;
  }
  if (active?.isHidden) {
    notebook.activeCellIndex = index;
  }
  void notebook.scrollToItem(index).catch(() => undefined);
}

/**
 * Insert a code cell below the active one and go to it. Returns false if there is no notebook model. If the active cell
 * belongs to a group (`together`), the new cell is inserted below the last cell of the group.
 */
export function insertBelow(
  panel: NotebookPanel,
  source: string,
  together: (cell: ISharedCell) => boolean
): boolean {
  const { content } = panel;
  const notebook = content.model?.sharedModel;
  if (!notebook) {
    return false;
  }
  const active = content.activeCell?.model.sharedModel;
  const index =
    active && together(active)
      ? notebook.cells.map(together).lastIndexOf(true) + 1
      : content.activeCellIndex + 1;
  asOneUndoStep(notebook, () => {
    const metadata = { trusted: true };
    notebook.insertCell(index, { cell_type: 'code', source, metadata });
  });
  content.activeCellIndex = index;
  showCell(panel, notebook.getCell(index).getId(), true);
  return true;
}

/** The id of a cell of the run, if it is in the notebook. */
export function findRunCell(
  notebook: ISharedNotebook,
  run: RunView | undefined,
  wanted: IRunCell
): string | null | undefined {
  if (Object.keys(wanted).length === 0) {
    return run?.cell;
  }
  const found = notebook.cells.find(cell => {
    const mark = markOf(cell, run?.run_id);
    return mark !== null && matches(mark, wanted);
  });
  return found?.getId();
}

function matches(mark: IMark, wanted: IRunCell): boolean {
  if (wanted.candidate !== undefined) {
    const shown = mark.role === 'candidate' || mark.role === 'solution';
    return shown && mark.candidate === wanted.candidate;
  }
  if (wanted.subtask !== undefined) {
    return mark.role === 'subtask' && mark.subtask === wanted.subtask;
  }
  return mark.role === (wanted.solution ? 'solution' : 'plan');
}

/**
 * Execute the calling cell again to continue from there. Returns false if it is gone or no longer starts an
 * exploration.
 */
export function rerunCallingCell(
  panel: NotebookPanel,
  id: string | null | undefined,
  given: Continue
): boolean {
  const cell = panel.content.widgets.find(({ model }) => model.id === id);
  if (cell?.model.type !== 'code' || !isCallingCell(cell.model.sharedModel)) {
    return false;
  }
  // The request is passed with this execution only and is not stored in the notebook.
  const metadata = { [NAMESPACE]: { continue: { ...given } } };
  const { sessionContext } = panel.context;
  // Errors are shown below the cell.
  CodeCell.execute(cell as CodeCell, sessionContext, metadata).catch(
    () => undefined
  );
  return true;
}

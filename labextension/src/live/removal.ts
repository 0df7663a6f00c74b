/** Takes explorations out of the notebook again, in one step that can be undone. */
import type { ISharedCell, ISharedNotebook, YNotebook } from '@jupyter/ydoc';

import { Draft } from './draft';
import { adopt, IMark, isEdited, markOf } from './mark';

/**
 * Remove generated cells. Those that a person has edited stay, as ordinary cells.
 *
 * @param notebook - where
 * @param which - whether a cell with this mark goes
 * @param keepSolution - whether solutions stay, as ordinary cells
 * @returns the number of cells that are gone
 */
export function removeCells(
  notebook: ISharedNotebook,
  which: (mark: IMark) => boolean,
  keepSolution = false
): number {
  const cells = notebook.cells.filter(cell => {
    const mark = markOf(cell);
    return mark !== null && which(mark);
  });
  const stays = (cell: ISharedCell) =>
    isEdited(cell) || (keepSolution && markOf(cell)?.role === 'solution');
  const [kept, gone] = [cells.filter(stays), cells.filter(c => !stays(c))];
  inOneStep(notebook, () => {
    const draft = new Draft(notebook);
    kept.forEach(adopt);
    gone.forEach(cell => draft.remove(cell));
    if (draft.cells.length === 0) {
      draft.insert(0, { cell_type: 'code', metadata: { trusted: true } });
    }
  });
  return gone.length;
}

/** One step of the notebook's undo history, not joined with what was done just before or is done just after. */
export function inOneStep(notebook: ISharedNotebook, act: () => void): void {
  const { undoManager } = notebook as Partial<YNotebook>;
  undoManager?.stopCapturing();
  notebook.transact(act);
  undoManager?.stopCapturing();
}

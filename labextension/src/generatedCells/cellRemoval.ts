/** Removes explorations from the notebook as one undo step. */
import type { ISharedCell, ISharedNotebook, YNotebook } from '@jupyter/ydoc';

import { releaseCell, IMark, isEdited, markOf } from './generatedCell';

/**
 * Remove generated cells. Those that the user has edited stay as ordinary cells.
 *
 * @param notebook - where
 * @param which - whether a cell with this mark goes
 * @param stays - whether a cell stays nevertheless, as an ordinary one
 * @returns the number of cells that are gone
 */
export function removeCells(
  notebook: ISharedNotebook,
  which: (mark: IMark, cell: ISharedCell) => boolean,
  stays: (cell: ISharedCell) => boolean = () => false
): number {
  const cells = notebook.cells.filter(cell => {
    const mark = markOf(cell);
    return mark !== null && which(mark, cell);
  });
  const kept = cells.filter(cell => isEdited(cell) || stays(cell));
  const gone = new Set(cells.filter(cell => !kept.includes(cell)));
  asOneUndoStep(
    notebook,
    () => kept.forEach(releaseCell),
    ...contiguousRanges(notebook, gone).map(
      ([from, to]) =>
        () =>
          notebook.deleteCellRange(from, to)
    ),
    () => ensureNotEmpty(notebook)
  );
  return gone.size;
}

/**
 * Record actions as one step of the undo history, not merged with the steps just before or after.
 *
 * @param notebook - where
 * @param acts - what is done, each in a transaction of its own
 */
export function asOneUndoStep(
  notebook: ISharedNotebook,
  ...acts: (() => void)[]
): void {
  const { undoManager } = notebook as Partial<YNotebook>;
  if (!undoManager) {
    acts.forEach(act => notebook.transact(act));
    return;
  }
  const { captureTimeout } = undoManager;
  undoManager.stopCapturing();
  undoManager.captureTimeout = Infinity;
  acts.forEach(act => notebook.transact(act));
  undoManager.captureTimeout = captureTimeout;
  undoManager.stopCapturing();
}

/**
 * The ranges of cells to remove, last first. They are removed in separate transactions because a view changes its
 * active cell when cells change at several places in one.
 */
function contiguousRanges(
  notebook: ISharedNotebook,
  gone: ReadonlySet<ISharedCell>
): [number, number][] {
  const found: [number, number][] = [];
  notebook.cells.forEach((cell, index) => {
    if (!gone.has(cell)) {
      return;
    }
    if (found[0]?.[1] === index) {
      found[0][1] = index + 1;
    } else {
      found.unshift([index, index + 1]);
    }
  });
  return found;
}

/** A notebook always has at least one cell. */
function ensureNotEmpty(notebook: ISharedNotebook): void {
  if (notebook.cells.length === 0) {
    notebook.insertCell(0, { cell_type: 'code', metadata: { trusted: true } });
  }
}

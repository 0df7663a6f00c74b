/** Cells that call for explorations. */
import type { ISharedCell, ISharedNotebook } from '@jupyter/ydoc';

import { markOf } from './generatedCell';

const CALL_PATTERN = /^%%explora\b/;
const MENTION_PATTERN = /exploracoder_jupyter|^%%explora\b/m;

/** Whether the cell calls for an exploration. */
export function isCallingCell(cell: ISharedCell): boolean {
  return CALL_PATTERN.test(cell.getSource());
}

/** Whether the cell calls, and what it called for stands in the notebook. */
export function hasGeneratedCells(
  notebook: ISharedNotebook,
  cell: ISharedCell
): boolean {
  const id = cell.getId();
  return (
    isCallingCell(cell) &&
    notebook.cells.some(other => markOf(other)?.caller === id)
  );
}

/** Whether there is a sign in the notebook that its kernel may know us. */
export function mentionsExtension(notebook: ISharedNotebook): boolean {
  return notebook.cells.some(
    cell => MENTION_PATTERN.test(cell.getSource()) || markOf(cell) !== null
  );
}

/** Cells that call for explorations. */
import type { ISharedCell, ISharedNotebook } from '@jupyter/ydoc';

import { markOf } from './generatedCell';

const CALL = /^%%explora\b/;
const MENTION = /exploracoder_jupyter|^%%explora\b/m;

/** Whether the cell calls for an exploration. */
export function calls(cell: ISharedCell): boolean {
  return CALL.test(cell.getSource());
}

/** Whether the cell calls, and what it called for stands in the notebook. */
export function hasExploration(
  notebook: ISharedNotebook,
  cell: ISharedCell
): boolean {
  const id = cell.getId();
  return (
    calls(cell) && notebook.cells.some(other => markOf(other)?.caller === id)
  );
}

/** Whether there is a sign in the notebook that its kernel may know us. */
export function mentionsUs(notebook: ISharedNotebook): boolean {
  return notebook.cells.some(
    cell => MENTION.test(cell.getSource()) || markOf(cell) !== null
  );
}

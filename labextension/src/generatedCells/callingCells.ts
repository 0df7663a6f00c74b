/** Recognizes cells that start an exploration with `%%explora`. */
import type { ISharedCell, ISharedNotebook } from '@jupyter/ydoc';

import { markOf } from './generatedCell';
import { hasEndedCard } from './cardStatus';

const CALL_PATTERN = /^%%explora\b/;
const LOAD_PATTERN = /^%(re)?load_ext\s+exploracoder_jupyter\b/m;
const MENTION_PATTERN = /exploracoder_jupyter|^%%explora\b/m;

/** Whether the cell starts an exploration. */
export function isCallingCell(cell: ISharedCell): boolean {
  return CALL_PATTERN.test(cell.getSource());
}

/** Whether the cell cannot be run in a kernel without the package: it explores, or loads the extension. */
export function needsPackage(cell: ISharedCell): boolean {
  return (
    cell.cell_type === 'code' &&
    (isCallingCell(cell) || LOAD_PATTERN.test(cell.getSource()))
  );
}

/** Whether the cell starts an exploration whose result or generated cells are in the notebook. */
export function hasGeneratedCells(
  notebook: ISharedNotebook,
  cell: ISharedCell
): boolean {
  const id = cell.getId();
  return (
    isCallingCell(cell) &&
    (hasEndedCard(cell) ||
      notebook.cells.some(other => markOf(other)?.caller === id))
  );
}

/** Whether the notebook contains a hint that its kernel may have loaded the extension. */
export function mentionsExtension(notebook: ISharedNotebook): boolean {
  return notebook.cells.some(
    cell => MENTION_PATTERN.test(cell.getSource()) || markOf(cell) !== null
  );
}

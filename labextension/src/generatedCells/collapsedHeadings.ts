/**
 * Cells hidden by collapsed headings. JupyterLab hides and shows cells only when a user collapses or expands a heading;
 * the headings and cells of a run come, go and collapse by themselves.
 */
import { Cell, MarkdownCell } from '@jupyterlab/cells';
import type { Notebook } from '@jupyterlab/notebook';

import { markOf } from './generatedCell';

/** The key in a cell's metadata that marks a collapsed heading. */
export const COLLAPSED = 'jp-MarkdownHeadingCollapsed';

const HEADING_PATTERN = /^ {0,3}(#{1,6})\s/gm;

/** Change the cells of a notebook, then show and hide cells as its headings say. */
export function withHeadings<T>(notebook: Notebook, act: () => T): T {
  const before = collapsedCells(notebook);
  const result = act();
  const now = collapsedCells(notebook);
  for (const cell of notebook.widgets) {
    if (before.has(cell) && !now.has(cell)) {
      cell.setHidden(false);
    } else if (now.has(cell) && !cell.isHidden && markOf(cell.model)) {
      cell.setHidden(true);
    }
  }
  countHidden(now);
  return result;
}

/** The cells below collapsed headings, with the heading of each. */
function collapsedCells(notebook: Notebook): Map<Cell, MarkdownCell> {
  const found = new Map<Cell, MarkdownCell>();
  let collapsed = 0;
  let heading: MarkdownCell | null = null;
  for (const cell of notebook.widgets) {
    const level = cell instanceof MarkdownCell ? headingLevel(cell) : 0;
    if (level && level <= collapsed) {
      collapsed = 0;
    }
    if (collapsed && heading) {
      found.set(cell, heading);
    } else if (cell instanceof MarkdownCell && isCollapsed(cell)) {
      collapsed = level;
      heading = cell;
    }
  }
  return found;
}

/** Whether the heading is collapsed. That of a run follows its metadata, which the kernel sets. */
function isCollapsed(cell: MarkdownCell): boolean {
  if (markOf(cell.model)?.role === 'tries') {
    const wanted = cell.model.getMetadata(COLLAPSED) === true;
    if (cell.headingCollapsed !== wanted) {
      cell.headingCollapsed = wanted;
    }
  }
  return cell.headingCollapsed;
}

/** Show at each heading of a run how many cells it hides. */
function countHidden(hidden: ReadonlyMap<Cell, MarkdownCell>): void {
  const counts = new Map<MarkdownCell, number>();
  hidden.forEach(heading =>
    counts.set(heading, (counts.get(heading) ?? 0) + 1)
  );
  counts.forEach((count, heading) => {
    if (markOf(heading.model) && heading.numberChildNodes !== count) {
      heading.numberChildNodes = count;
    }
  });
}

/** The level of a heading, or 0 for other cells. A new cell has not resolved its headings yet. */
function headingLevel(cell: MarkdownCell): number {
  const { level } = cell.headingInfo;
  if (level > 0 || cell.headingsResolved) {
    return Math.max(level, 0);
  }
  const signs = [
    ...cell.model.sharedModel.getSource().matchAll(HEADING_PATTERN)
  ];
  return signs.length ? Math.min(...signs.map(([, sign]) => sign.length)) : 0;
}

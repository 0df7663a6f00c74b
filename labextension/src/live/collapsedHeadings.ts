/**
 * Cells hidden by collapsed headings. JupyterLab hides and shows cells only when a heading is collapsed or expanded, so
 * cells below a heading that is removed would stay hidden permanently.
 */
import { Cell, MarkdownCell } from '@jupyterlab/cells';
import type { Notebook } from '@jupyterlab/notebook';

const HEADING_PATTERN = /^ {0,3}(#{1,6})\s/gm;

/** Change the cells of a notebook, then show the cells that no collapsed heading hides any more. */
export function unhideUncollapsed<T>(notebook: Notebook, act: () => T): T {
  const before = collapsedCells(notebook);
  const result = act();
  if (before.size) {
    const now = collapsedCells(notebook);
    notebook.widgets
      .filter(cell => before.has(cell) && !now.has(cell))
      .forEach(cell => cell.setHidden(false));
  }
  return result;
}

/** The cells below collapsed headings. */
function collapsedCells(notebook: Notebook): Set<Cell> {
  const found = new Set<Cell>();
  let collapsed = 0;
  for (const cell of notebook.widgets) {
    const level = cell instanceof MarkdownCell ? headingLevel(cell) : 0;
    if (level && level <= collapsed) {
      collapsed = 0;
    }
    if (collapsed) {
      found.add(cell);
    } else if (cell instanceof MarkdownCell && cell.headingCollapsed) {
      collapsed = level;
    }
  }
  return found;
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

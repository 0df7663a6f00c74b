/** Candidates that were not carried forward, and all that was tried: each is one line, and opened by its button. */
import { Cell, CodeCell, MarkdownCell } from '@jupyterlab/cells';
import type { IError, IStream } from '@jupyterlab/nbformat';
import type { IOutputAreaModel } from '@jupyterlab/outputarea';

import { COLLAPSED } from './collapsedHeadings';
import { IMark } from './generatedCell';

/** CSS class of a cell of which only the badge is shown. */
export const FOLDED_CLASS = 'jp-Explora-folded';

const FOLDABLE_ROLES = new Set(['candidate', 'test']);
/** Lines that say little about a candidate: the guard, comments and imports. */
const DULL_PATTERN = /^\s*(%%explored\b|#|import\s|from\s.+\simport\s|$)/;
const STREAMS = 4_000;

/** What the line shows of a candidate. */
export interface IFold {
  open: boolean;
  /** The first line of the code, or the first that is neither an import nor a comment. */
  code: string;
  /** The first line of the error, or else of the output. */
  result: string;
}

/** The line of a candidate that was not carried forward; `null` for other cells. */
export function foldOf(cell: Cell, mark: IMark): IFold | null {
  if (cell instanceof MarkdownCell && mark.role === 'tries') {
    const open = cell.model.getMetadata(COLLAPSED) !== true;
    return { open, code: '', result: '' };
  }
  if (
    !(cell instanceof CodeCell) ||
    !FOLDABLE_ROLES.has(mark.role) ||
    mark.selected !== false
  ) {
    return null;
  }
  return {
    open: !isFolded(cell),
    code: codeLine(cell.model.sharedModel.getSource()),
    result: resultLine(cell.model.outputs)
  };
}

/** Open or close a candidate. The state is saved with the notebook. */
export function toggleFold(cell: Cell): void {
  if (cell instanceof MarkdownCell) {
    cell.headingCollapsed = !cell.headingCollapsed;
  } else if (cell instanceof CodeCell) {
    const folded = !isFolded(cell);
    // If both change at once, the cell's view handles the first and overwrites the second with its old state.
    setHidden(cell, 'outputs_hidden', folded);
    setHidden(cell, 'source_hidden', folded);
  }
}

function setHidden(
  { model }: CodeCell,
  part: 'source_hidden' | 'outputs_hidden',
  hidden: boolean
): void {
  const jupyter = (model.getMetadata('jupyter') ?? {}) as object;
  model.setMetadata('jupyter', { ...jupyter, [part]: hidden });
}

/** Whether source and outputs are hidden, as the metadata say: a cell that is not rendered yet has no state. */
function isFolded(cell: CodeCell): boolean {
  const jupyter = cell.model.getMetadata('jupyter') as
    Record<string, unknown> | undefined;
  return jupyter?.source_hidden === true && jupyter?.outputs_hidden === true;
}

function codeLine(source: string): string {
  const lines = source.split('\n').slice(1);
  const meaningful = lines.find(line => !DULL_PATTERN.test(line));
  return (meaningful ?? lines.find(line => line.trim()) ?? '').trim();
}

function resultLine(outputs: IOutputAreaModel): string {
  let printed = '';
  for (let index = 0; index < outputs.length; index++) {
    const output = outputs.get(index);
    if (output.type === 'error') {
      const { ename, evalue } = output.toJSON() as IError;
      return firstLine(`${ename}: ${evalue}`);
    }
    if (output.type === 'stream' && !printed) {
      const { text } = output.toJSON() as IStream;
      printed = firstLine([text].flat().join('').slice(0, STREAMS));
    } else if (!printed) {
      printed = firstLine(String(output.data['text/plain'] ?? ''));
    }
  }
  return printed;
}

function firstLine(text: string): string {
  return (text.split('\n').find(line => line.trim()) ?? '').trim();
}

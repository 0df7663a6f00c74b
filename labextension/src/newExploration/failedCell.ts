/** Cells that failed: their error, the task to correct one, and which one a calling cell is to correct. */
import type { ISharedCodeCell } from '@jupyter/ydoc';
import type { Cell } from '@jupyterlab/cells';

import { markOf, NAMESPACE } from '../generatedCells/generatedCell';
import { EMPTY_TASK, ITask } from './callingCellSource';
import { failingLibrary, usedLibraries } from './librariesOfCell';

/** Matches the extension's own magics, which IPython also runs below empty lines and indented. */
const MAGIC = /^\s*%%?explora\b/;

/** Errors that correcting the code does not prevent. */
const INTERRUPT = 'KeyboardInterrupt';

/**
 * The first line of the error in a code cell's outputs, if it failed. Cells that start explorations or belong to one do
 * not count, and neither do those that the user interrupted.
 */
export function failedCellError(cell: Cell | null): string | null {
  if (cell?.model.type !== 'code') {
    return null;
  }
  const shared = cell.model.sharedModel as ISharedCodeCell;
  if (MAGIC.test(shared.getSource()) || markOf(shared) !== null) {
    return null;
  }
  const error = shared
    .getOutputs()
    .find(output => output.output_type === 'error');
  return error && error.ename !== INTERRUPT
    ? `${error.ename}: ${error.evalue}`.split('\n')[0]
    : null;
}

/**
 * The task to correct a failed cell.
 *
 * @param notebook - the code of the whole notebook, which may import the libraries
 */
export function correctionTask(
  cell: Cell,
  error: string,
  notebook: string
): ITask {
  const shared = cell.model.sharedModel as ISharedCodeCell;
  const source = shared.getSource();
  const failing = failingLibrary(
    shared.getOutputs().flatMap(output => (output.traceback as string[]) ?? [])
  );
  const libraries = new Set(usedLibraries(source, notebook));
  if (failing) {
    libraries.add(failing);
  }
  return {
    ...EMPTY_TASK,
    libraries: [...libraries].join(', '),
    task: `Correct this code, and keep the names of its variables. It fails with \`${error}\`:\n\n\`\`\`python\n${source.trim()}\n\`\`\``,
    fixes: cell.model.id
  };
}

/** The id of the failed cell that a calling cell is to correct. */
export function failedCellId(cell: {
  getMetadata(key: string): unknown;
}): string | undefined {
  const ours = cell.getMetadata(NAMESPACE) as { fixes?: unknown } | undefined;
  return typeof ours?.fixes === 'string' ? ours.fixes : undefined;
}

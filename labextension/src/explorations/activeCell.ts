/**
 * The active cell of the notebook, and the run that it belongs to.
 */
import type { Cell } from '@jupyterlab/cells';

import { markOf } from '../generatedCells/generatedCell';
import type { RunView } from '../messages';

export interface IActiveCell {
  /** Id of the active cell. */
  cell: string;
  /** The engine's id of the run that generated the cell; empty if none did. */
  run: string;
  /** Id of that run's calling cell. */
  caller: string;
}

export function describeCell(cell: Cell | null): IActiveCell | null {
  if (!cell) {
    return null;
  }
  const mark = markOf(cell.model);
  return {
    cell: cell.model.id,
    run: mark?.run_id ?? '',
    caller: mark?.caller ?? ''
  };
}

/** The run that generated the cell, or else the newest run that was started by it or by its calling cell. */
export function runOfCell(
  runs: readonly RunView[],
  active: IActiveCell | null
): RunView | undefined {
  if (!active) {
    return undefined;
  }
  const { cell, run, caller } = active;
  const called = [...runs]
    .reverse()
    .find(each => each.cell === cell || (caller && each.cell === caller));
  return (run && runs.find(({ run_id }) => run_id === run)) || called;
}

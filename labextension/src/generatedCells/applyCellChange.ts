/**
 * Applies the kernel's cell changes to the open notebook: by id, in order, and idempotently.
 *
 * Cells are updated in place. Changes made by the user are kept: an edited source, collapsed or expanded parts, tags, a
 * new position, a deletion. The changes are not recorded in the notebook's undo history, which is for the user's own
 * steps.
 */
import type {
  ISharedCell,
  ISharedCodeCell,
  ISharedNotebook,
  SharedCell
} from '@jupyter/ydoc';
import type { IOutput } from '@jupyterlab/nbformat';
import { JSONExt, PartialJSONObject } from '@lumino/coreutils';

import type { CellChange } from '../messages';
import { COLLAPSED } from './collapsedHeadings';
import { insertionIndex } from './cellOrder';
import { TransactionCells } from './transactionCells';
import {
  releaseCell,
  hasBeenRun,
  IMark,
  isCopy,
  isEdited,
  markOf,
  NAMESPACE,
  userTags
} from './generatedCell';
import { filterOutputs } from './outputFilter';
import { removeCells } from './cellRemoval';
import type { RunCellState } from './runCellState';

/** A change, and the run that it belongs to. */
export interface IRunChange {
  run: RunCellState;
  change: CellChange;
}

/** A generated cell in notebook file format, as the kernel sends it. */
interface IGeneratedCell {
  id: string;
  cell_type: 'code' | 'markdown';
  source: string;
  metadata: PartialJSONObject;
  outputs?: IOutput[];
}

interface IFoldState extends PartialJSONObject {
  source_hidden: boolean;
  outputs_hidden: boolean;
}

/** Apply one change in one transaction, except for collapsing the cell and removing cells of earlier runs. */
export function applyChange(
  notebook: ISharedNotebook,
  { run, change }: IRunChange
): void {
  if (run.dismissed) {
    return;
  }
  removeEarlierCells(notebook, run, change);
  let next: IFoldState | null = null as IFoldState | null;
  notebook.transact(() => {
    next = applyToCells(new TransactionCells(notebook), run, change);
  }, false);
  const cell = notebook.cells.find(other => other.getId() === change.id);
  if (cell && next) {
    // If both change at once, the cell's view handles the first and overwrites the second with its old state.
    setFold(notebook, cell, 'outputs_hidden', next);
    setFold(notebook, cell, 'source_hidden', next);
  }
}

function setFold(
  notebook: ISharedNotebook,
  cell: ISharedCell,
  part: keyof IFoldState,
  next: IFoldState
): void {
  notebook.transact(() => {
    const jupyter = cell.getMetadata('jupyter') as PartialJSONObject;
    cell.setMetadata('jupyter', { ...jupyter, [part]: next[part] });
  }, false);
}

/** Before the first new cell, remove the cells of earlier runs of the calling cell as a step that the user can undo. */
function removeEarlierCells(
  notebook: ISharedNotebook,
  run: RunCellState,
  { id, cell }: CellChange
): void {
  const isNew = cell !== null && !run.deleted.has(id);
  const there = notebook.cells.some(other => other.getId() === id);
  if (isNew && !there && !run.earlierRemoved) {
    const file = cell as unknown as IGeneratedCell;
    run.runId ||= (file.metadata[NAMESPACE] as unknown as IMark).run_id;
    run.earlierRemoved = true;
    const isEarlier = (mark: IMark, cell: ISharedCell) =>
      isFromEarlierRun(run, mark, cell);
    for (const earlier of notebook.cells) {
      const mark = markOf(earlier);
      if (mark && isEarlier(mark, earlier)) {
        run.replaced.add(earlier.getId());
      }
    }
    removeCells(notebook, isEarlier, hasBeenRun);
  }
}

/** Whether an earlier run generated the cell. Copies belong to the user and do not count. */
function isFromEarlierRun(
  run: RunCellState,
  mark: IMark,
  cell: ISharedCell
): boolean {
  return (
    mark.caller === run.caller && mark.run_id !== run.runId && !isCopy(cell)
  );
}

/** Returns the new collapsed state if it has to change. */
function applyToCells(
  draft: TransactionCells,
  run: RunCellState,
  change: CellChange
): IFoldState | null {
  if (change.action === 'remove') {
    run.order.remove(change.id);
    removeCell(draft, draft.find(change.id));
    return null;
  }
  run.order.add(change.id, change.after);
  return run.deleted.has(change.id) || change.cell === null
    ? null
    : insertOrUpdate(draft, run, change.cell as unknown as IGeneratedCell);
}

function insertOrUpdate(
  draft: TransactionCells,
  run: RunCellState,
  file: IGeneratedCell
): IFoldState | null {
  const found = draft.find(file.id);
  if (found) {
    return updateCell(found, run, file);
  }
  run.folds.set(file.id, readFolds(file.metadata.jupyter));
  run.collapsed.set(file.id, file.metadata[COLLAPSED] === true);
  draft.insert(insertionIndex(draft, run, file.id), createCell(run, file));
  return null;
}

/** Remove a generated cell. One that the user has edited or run becomes an ordinary cell instead. */
export function removeCell(
  draft: TransactionCells,
  cell: ISharedCell | undefined
): void {
  if (!cell || !markOf(cell)) {
    return;
  }
  if (isEdited(cell) || hasBeenRun(cell)) {
    releaseCell(cell);
  } else {
    draft.remove(cell);
  }
}

function createCell(run: RunCellState, file: IGeneratedCell): SharedCell.Cell {
  const metadata = { ...file.metadata, [NAMESPACE]: buildMark(run, file) };
  const { id, source } = file;
  if (file.cell_type === 'markdown') {
    return { cell_type: 'markdown', id, source, metadata };
  }
  return {
    cell_type: 'code',
    id,
    source,
    metadata: { ...metadata, trusted: true },
    outputs: filterOutputs(file.outputs ?? []),
    execution_count: null
  };
}

function updateCell(
  cell: ISharedCell,
  run: RunCellState,
  file: IGeneratedCell
): IFoldState | null {
  const before = markOf(cell);
  if (before === null || cell.cell_type !== file.cell_type) {
    return null; // the user has converted the cell
  }
  run.runId ||= before.run_id;
  if (!isEdited(cell) && cell.getSource() !== file.source) {
    cell.setSource(file.source);
  }
  // A solution has no recorded outputs: its outputs come from running it here.
  if (cell.cell_type === 'code' && before.role !== 'solution') {
    updateOutputs(cell as ISharedCodeCell, filterOutputs(file.outputs ?? []));
  }
  const refold = needsRefold(cell, run, file, before);
  updateTags(cell, file.metadata.tags);
  updateHeading(cell, run, file, before);
  cell.setMetadata(NAMESPACE, buildMark(run, file));
  return refold ? readFolds(file.metadata.jupyter) : null;
}

function updateOutputs(cell: ISharedCodeCell, outputs: IOutput[]): void {
  if (!JSONExt.deepEqual(cell.getOutputs(), outputs)) {
    cell.setOutputs(outputs);
  }
}

function updateTags(cell: ISharedCell, ours: unknown): void {
  const known = Array.isArray(ours) ? (ours as string[]) : [];
  const tags = [...known, ...userTags(cell.getMetadata('tags'))];
  if (tags.length) {
    cell.setMetadata('tags', tags);
  } else {
    cell.deleteMetadata('tags');
  }
}

/** Collapse or expand a heading as the kernel says, unless the user has done either since. */
function updateHeading(
  cell: ISharedCell,
  run: RunCellState,
  file: IGeneratedCell,
  before: IMark
): void {
  const now = cell.getMetadata(COLLAPSED) === true;
  const next = file.metadata[COLLAPSED] === true;
  const ours = run.collapsed.get(file.id);
  const byUser =
    ours === undefined
      ? before.status === buildMark(run, file).status
      : now !== ours;
  if (byUser || now === next) {
    return;
  }
  run.collapsed.set(file.id, next);
  if (next) {
    cell.setMetadata(COLLAPSED, true);
  } else {
    cell.deleteMetadata(COLLAPSED);
  }
}

/** Whether to apply the collapsed state that the kernel sends: not if the user has changed it since. */
function needsRefold(
  cell: ISharedCell,
  run: RunCellState,
  file: IGeneratedCell,
  before: IMark
): boolean {
  const now = readFolds(cell.getMetadata('jupyter'));
  const next = readFolds(file.metadata.jupyter);
  const ours = run.folds.get(file.id);
  const selectionChanged = before.selected !== buildMark(run, file).selected;
  const foldedByUser =
    ours === undefined ? !selectionChanged : !JSONExt.deepEqual(now, ours);
  if (foldedByUser) {
    return false;
  }
  run.folds.set(file.id, next);
  return !JSONExt.deepEqual(now, next);
}

function readFolds(jupyter: unknown): IFoldState {
  const found = (jupyter ?? {}) as PartialJSONObject;
  return {
    source_hidden: found.source_hidden === true,
    outputs_hidden: found.outputs_hidden === true
  };
}

function buildMark(
  run: RunCellState,
  file: IGeneratedCell
): IMark & PartialJSONObject {
  const known = file.metadata[NAMESPACE] as unknown as IMark;
  return { ...known, caller: run.caller };
}

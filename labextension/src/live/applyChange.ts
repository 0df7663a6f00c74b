/**
 * Applies the kernel's changes of cells to the open notebook: by id, in order, and twice without harm.
 *
 * Cells are changed where they are. What the user has made of them stays: an edited source, a fold, tags, a place, an
 * absence. Nothing of this enters the notebook's undo history, which is for the user's own steps.
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

/** A generated cell in the form of notebook files, as the kernel sends it. */
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

/** Apply one change, in one transaction but for folds, and for the cells of earlier runs. */
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
    // A cell's view that hears of both at once takes the first and writes its old state over the second.
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

/** Before the first new cell: the cells of earlier runs of the calling cell go, in a step that the user can undo. */
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
    removeCells(
      notebook,
      (mark, cell) => isFromEarlierRun(run, mark, cell),
      hasBeenRun
    );
  }
}

/** Whether an earlier run made the cell: copies are the user's. */
function isFromEarlierRun(
  run: RunCellState,
  mark: IMark,
  cell: ISharedCell
): boolean {
  return (
    mark.caller === run.caller && mark.run_id !== run.runId && !isCopy(cell)
  );
}

/** How the cell is to be folded anew, if it is. */
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
  draft.insert(insertionIndex(draft, run, file.id), createCell(run, file));
  return null;
}

/** Remove a generated cell; one that a person has edited or run stays as an ordinary cell. */
function removeCell(
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

/** Behind the nearest earlier cell of the run that is there, else the calling cell; else before a later one. */
function insertionIndex(
  draft: TransactionCells,
  run: RunCellState,
  id: string
): number {
  const there = (other: string) => draft.indexOf(other) !== -1;
  const before = run.order.before(id);
  const nearest =
    before.find(other => !run.moved.has(other) && there(other)) ??
    before.find(there);
  const behind = draft.indexOf(nearest ?? run.caller);
  if (behind !== -1) {
    return behind + 1;
  }
  const later = run.order.after(id).find(there);
  return later === undefined ? draft.cells.length : draft.indexOf(later);
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
    return null; // the user has made it something else
  }
  run.runId ||= before.run_id;
  if (!isEdited(cell) && cell.getSource() !== file.source) {
    cell.setSource(file.source);
  }
  // A solution is not recorded: what it shows came of running it here.
  if (cell.cell_type === 'code' && before.role !== 'solution') {
    updateOutputs(cell as ISharedCodeCell, filterOutputs(file.outputs ?? []));
  }
  const refold = needsRefold(cell, run, file, before);
  updateTags(cell, file.metadata.tags);
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

/** Whether to fold the cell as the kernel says: not if the user has folded it otherwise since. */
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

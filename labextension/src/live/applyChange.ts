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
import { Draft } from './transactionCells';
import {
  free,
  hasRun,
  IMark,
  isCopy,
  isEdited,
  markOf,
  NAMESPACE,
  othersTags
} from './generatedCell';
import { trustworthy } from './outputFilter';
import { removeCells } from './cellRemoval';
import type { RunCells } from './runCellState';

/** A change, and the run that it belongs to. */
export interface IRunChange {
  run: RunCells;
  change: CellChange;
}

/** A generated cell in the form of notebook files, as the kernel sends it. */
interface ICellFile {
  id: string;
  cell_type: 'code' | 'markdown';
  source: string;
  metadata: PartialJSONObject;
  outputs?: IOutput[];
}

interface IFolds extends PartialJSONObject {
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
  makeRoom(notebook, run, change);
  let next: IFolds | null = null as IFolds | null;
  notebook.transact(() => {
    next = applyTo(new Draft(notebook), run, change);
  }, false);
  const cell = notebook.cells.find(other => other.getId() === change.id);
  if (cell && next) {
    // A cell's view that hears of both at once takes the first and writes its old state over the second.
    fold(notebook, cell, 'outputs_hidden', next);
    fold(notebook, cell, 'source_hidden', next);
  }
}

function fold(
  notebook: ISharedNotebook,
  cell: ISharedCell,
  part: keyof IFolds,
  next: IFolds
): void {
  notebook.transact(() => {
    const jupyter = cell.getMetadata('jupyter') as PartialJSONObject;
    cell.setMetadata('jupyter', { ...jupyter, [part]: next[part] });
  }, false);
}

/** Before the first new cell: the cells of earlier runs of the calling cell go, in a step that the user can undo. */
function makeRoom(
  notebook: ISharedNotebook,
  run: RunCells,
  { id, cell }: CellChange
): void {
  const isNew = cell !== null && !run.deleted.has(id);
  const there = notebook.cells.some(other => other.getId() === id);
  if (isNew && !there && !run.cleared) {
    const file = cell as unknown as ICellFile;
    run.runId ||= (file.metadata[NAMESPACE] as unknown as IMark).run_id;
    run.cleared = true;
    removeCells(notebook, (mark, cell) => isOlder(run, mark, cell), hasRun);
  }
}

/** Whether an earlier run made the cell: copies are the user's. */
function isOlder(run: RunCells, mark: IMark, cell: ISharedCell): boolean {
  return (
    mark.caller === run.caller && mark.run_id !== run.runId && !isCopy(cell)
  );
}

/** How the cell is to be folded anew, if it is. */
function applyTo(
  draft: Draft,
  run: RunCells,
  change: CellChange
): IFolds | null {
  if (change.action === 'remove') {
    run.order.remove(change.id);
    removeOne(draft, draft.find(change.id));
    return null;
  }
  run.order.add(change.id, change.after);
  return run.deleted.has(change.id) || change.cell === null
    ? null
    : put(draft, run, change.cell as unknown as ICellFile);
}

function put(draft: Draft, run: RunCells, file: ICellFile): IFolds | null {
  const found = draft.find(file.id);
  if (found) {
    return update(found, run, file);
  }
  run.folds.set(file.id, folds(file.metadata.jupyter));
  draft.insert(place(draft, run, file.id), fresh(run, file));
  return null;
}

/** Remove a generated cell; one that a person has edited or run stays as an ordinary cell. */
function removeOne(draft: Draft, cell: ISharedCell | undefined): void {
  if (!cell || !markOf(cell)) {
    return;
  }
  if (isEdited(cell) || hasRun(cell)) {
    free(cell);
  } else {
    draft.remove(cell);
  }
}

/** Behind the nearest earlier cell of the run that is there, else the calling cell; else before a later one. */
function place(draft: Draft, run: RunCells, id: string): number {
  const there = (other: string) => draft.index(other) !== -1;
  const before = run.order.before(id);
  const nearest =
    before.find(other => !run.moved.has(other) && there(other)) ??
    before.find(there);
  const behind = draft.index(nearest ?? run.caller);
  if (behind !== -1) {
    return behind + 1;
  }
  const later = run.order.behind(id).find(there);
  return later === undefined ? draft.cells.length : draft.index(later);
}

function fresh(run: RunCells, file: ICellFile): SharedCell.Cell {
  const metadata = { ...file.metadata, [NAMESPACE]: mark(run, file) };
  const { id, source } = file;
  if (file.cell_type === 'markdown') {
    return { cell_type: 'markdown', id, source, metadata };
  }
  return {
    cell_type: 'code',
    id,
    source,
    metadata: { ...metadata, trusted: true },
    outputs: trustworthy(file.outputs ?? []),
    execution_count: null
  };
}

function update(
  cell: ISharedCell,
  run: RunCells,
  file: ICellFile
): IFolds | null {
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
    updateOutputs(cell as ISharedCodeCell, trustworthy(file.outputs ?? []));
  }
  const anew = foldsAnew(cell, run, file, before);
  updateTags(cell, file.metadata.tags);
  cell.setMetadata(NAMESPACE, mark(run, file));
  return anew ? folds(file.metadata.jupyter) : null;
}

function updateOutputs(cell: ISharedCodeCell, outputs: IOutput[]): void {
  if (!JSONExt.deepEqual(cell.getOutputs(), outputs)) {
    cell.setOutputs(outputs);
  }
}

function updateTags(cell: ISharedCell, ours: unknown): void {
  const known = Array.isArray(ours) ? (ours as string[]) : [];
  const tags = [...known, ...othersTags(cell.getMetadata('tags'))];
  if (tags.length) {
    cell.setMetadata('tags', tags);
  } else {
    cell.deleteMetadata('tags');
  }
}

/** Whether to fold the cell as the kernel says: not if the user has folded it otherwise since. */
function foldsAnew(
  cell: ISharedCell,
  run: RunCells,
  file: ICellFile,
  before: IMark
): boolean {
  const now = folds(cell.getMetadata('jupyter'));
  const next = folds(file.metadata.jupyter);
  const ours = run.folds.get(file.id);
  const news = before.selected !== mark(run, file).selected;
  const users = ours === undefined ? !news : !JSONExt.deepEqual(now, ours);
  if (users) {
    return false;
  }
  run.folds.set(file.id, next);
  return !JSONExt.deepEqual(now, next);
}

function folds(jupyter: unknown): IFolds {
  const found = (jupyter ?? {}) as PartialJSONObject;
  return {
    source_hidden: found.source_hidden === true,
    outputs_hidden: found.outputs_hidden === true
  };
}

function mark(run: RunCells, file: ICellFile): IMark & PartialJSONObject {
  const known = file.metadata[NAMESPACE] as unknown as IMark;
  return { ...known, caller: run.caller };
}

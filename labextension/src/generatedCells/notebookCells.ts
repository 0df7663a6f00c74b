/** The cells of all runs in one notebook: applies the kernel's changes and reports the user's. */
import type { ISharedNotebook, YNotebook } from '@jupyter/ydoc';
import type { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';

import { isFinished } from '../link/runStatus';
import type { CellChange, CellsMessage, Snapshot } from '../messages';
import { applyChange, IRunChange, removeCell } from './applyCellChange';
import { IMark, markOf, NAMESPACE } from './generatedCell';
import type { Schedule } from './scheduling';
import { ChangeQueue } from '../explorations/changeQueue';
import { removeCells } from './cellRemoval';
import { RunCellState } from './runCellState';
import { CellWatcher, IUserChanges } from './cellWatcher';
import { TransactionCells } from './transactionCells';

/** Cells of a run that the user has deleted. */
export interface IDeletedCells {
  run: string;
  cells: string[];
}

const ACTIVE_STATUSES = new Set([
  'running',
  'exploring',
  'starting',
  'reviewing'
]);

/** Wraps a change of the cells in whatever has to be done before and after it. */
type Wrapper = <T>(act: () => T) => T;

export class NotebookCells implements IDisposable {
  /**
   * @param notebook - the document
   * @param schedule - when changes are applied
   * @param around - how cells are made to come and go
   */
  constructor(
    readonly notebook: ISharedNotebook,
    schedule?: Schedule,
    private _wrap: Wrapper = act => act()
  ) {
    this._watcher = new CellWatcher(notebook);
    this._watcher.userChanged.connect(this._onUserChange, this);
    this._queue = new ChangeQueue(
      item => this._apply(item),
      schedule,
      schedule
    );
  }

  /** Emitted when the user has deleted cells. */
  get deleted(): ISignal<this, IDeletedCells> {
    return this._deleted;
  }

  /**
   * Emitted with the key of a run when its first cell is inserted. It replaces the earlier runs of its calling cell.
   */
  get firstCellInserted(): ISignal<this, string> {
    return this._firstCellInserted;
  }

  /** Emitted with the key of a run when the user has brought back the cells that it replaced; its own are gone. */
  get undone(): ISignal<this, string> {
    return this._undone;
  }

  /** Emitted when the notebook was reloaded from its file. */
  get reloaded(): ISignal<CellWatcher, void> {
    return this._watcher.reloaded;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Whether the cell is in the notebook. */
  has(id: string): boolean {
    return this.notebook.cells.some(cell => cell.getId() === id);
  }

  /** Apply the kernel's changes. Returns whether earlier messages are missing. */
  receive(message: CellsMessage, caller: string): boolean {
    const run = this._runState(message.run, caller);
    this._enqueue(run, run.sequencer.push(message));
    return run.sequencer.hasGap;
  }

  /** Apply a snapshot of a run. Returns whether later messages are missing. */
  restore(snapshot: Snapshot, caller: string): boolean {
    const run = this._runState(snapshot.run, caller);
    const later = run.sequencer.skipTo(snapshot.seq);
    if (later !== null) {
      run.complete = isFinished(snapshot.state);
      run.runId = snapshot.state.run_id || run.runId;
      this._queue.drop(run);
      this._enqueue(run, [...snapshotChanges(run, snapshot), ...later]);
    }
    return run.sequencer.hasGap;
  }

  /** Resolves when all changes that were received have been applied. */
  whenApplied(): Promise<void> {
    return this._queue.whenEmpty();
  }

  /** Whether the run has ended and all its cells are known. */
  isComplete(key: string): boolean {
    return this._runs.get(key)?.complete ?? false;
  }

  /** Ignore further changes of this run. Returns false if it was dismissed before. */
  dismiss(key: string, caller: string): boolean {
    const run = this._runState(key, caller);
    const isNew = !run.dismissed;
    run.dismissed = true;
    this._queue.drop(run);
    return isNew;
  }

  /** Drop all state when the kernel is gone, since another kernel may reuse its keys. */
  clear(): void {
    this._runs.forEach(run => this._queue.drop(run));
    this._runs.clear();
  }

  /** Remove cells as one undo step. Returns the number of removed cells. */
  remove(which: (mark: IMark) => boolean, keepSolution: boolean): number {
    return this._unwatched(() =>
      removeCells(
        this.notebook,
        which,
        cell => keepSolution && markOf(cell)?.role === 'solution'
      )
    );
  }

  /** Mark cells as interrupted that are shown as active although their run is not in `alive`. */
  markInterrupted(alive: ReadonlySet<string>): void {
    const dead = this.notebook.cells.filter(cell => {
      const mark = markOf(cell);
      return (
        mark && !alive.has(mark.run_id) && ACTIVE_STATUSES.has(mark.status!)
      );
    });
    if (dead.length) {
      this.notebook.transact(() => {
        for (const cell of dead) {
          const mark = { ...markOf(cell), status: 'interrupted' };
          cell.setMetadata(NAMESPACE, mark);
        }
      }, false);
    }
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      this._queue.dispose();
      this._watcher.dispose();
      Signal.clearData(this);
    }
  }

  private _runState(key: string, caller: string): RunCellState {
    let run = this._runs.get(key);
    if (!run) {
      run = new RunCellState(key, caller);
      this._runs.set(key, run);
    }
    return run;
  }

  private _enqueue(run: RunCellState, changes: readonly CellChange[]): void {
    this._queue.add(changes.map((change): IRunChange => ({ run, change })));
  }

  private _apply(item: IRunChange): void {
    const { run } = item;
    const before = run.earlierRemoved;
    this._unwatched(() => applyChange(this.notebook, item));
    if (run.earlierRemoved && !before) {
      this._firstCellInserted.emit(run.key);
    }
  }

  private _unwatched<T>(act: () => T): T {
    return this._watcher.withoutWatching(() => this._wrap(act));
  }

  private _onUserChange(
    _: CellWatcher,
    { deleted, moved, restored }: IUserChanges
  ): void {
    if (restored.size) {
      // The notebook must not be changed before all have heard of this change.
      void Promise.resolve().then(() => this._onRestored([...restored.keys()]));
    }
    for (const run of this._runs.values()) {
      const ours = (marks: ReadonlyMap<string, IMark>) =>
        [...marks.keys()].filter(id => marks.get(id)!.run_id === run.runId);
      const cells = ours(deleted);
      ours(moved).forEach(id => run.moved.add(id));
      cells.forEach(id => run.deleted.add(id));
      if (cells.length) {
        this._deleted.emit({ run: run.key, cells });
      }
    }
  }

  /** The undo of a replacement takes the new cells away; that of a removal needs nothing but the headings in order. */
  private _onRestored(ids: readonly string[]): void {
    if (this._isDisposed) {
      return;
    }
    const undone = [...this._runs.values()].filter(
      run => !run.dismissed && ids.some(id => run.replaced.has(id))
    );
    this._unwatched(() =>
      this.notebook.transact(() => {
        const draft = new TransactionCells(this.notebook);
        for (const cell of [...draft.cells]) {
          const id = markOf(cell)?.run_id;
          if (undone.some(({ runId }) => runId === id)) {
            removeCell(draft, cell);
          }
        }
      }, false)
    );
    for (const run of undone) {
      // To do it again would remove the restored cells and bring nothing in their place.
      (this.notebook as Partial<YNotebook>).undoManager?.clear(false, true);
      this._undone.emit(run.key);
    }
  }

  private _undone = new Signal<this, string>(this);
  private _firstCellInserted = new Signal<this, string>(this);
  private _deleted = new Signal<this, IDeletedCells>(this);
  private _runs = new Map<string, RunCellState>();
  private _watcher: CellWatcher;
  private _queue: ChangeQueue;
  private _isDisposed = false;
}

/**
 * The changes that bring the notebook to the state of the snapshot. Only cells that the engine removed are removed;
 * everything else is left to the user.
 */
function snapshotChanges(run: RunCellState, snapshot: Snapshot): CellChange[] {
  const ids = snapshot.cells.map(cell => cell.id as string);
  const removes = snapshot.removed.map((id): CellChange => ({
    action: 'remove',
    id,
    after: null,
    cell: null
  }));
  const inserts = snapshot.cells.map((cell, index): CellChange => ({
    action: 'insert',
    id: ids[index],
    after: index ? ids[index - 1] : run.caller,
    cell
  }));
  return [...removes, ...inserts];
}

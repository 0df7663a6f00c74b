/** The cells of all runs in one notebook: brings in what the kernel sends, and tells what the user does to them. */
import type { ISharedNotebook } from '@jupyter/ydoc';
import type { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';

import { isFinished } from '../link/runStatus';
import type { CellChange, CellsMessage, Snapshot } from '../messages';
import { applyChange, IRunChange } from './applyChange';
import { IMark, markOf, NAMESPACE } from './generatedCell';
import type { Schedule } from './scheduling';
import { ChangeQueue } from './changeQueue';
import { removeCells } from './cellRemoval';
import { RunCellState } from './runCellState';
import { CellWatcher, IUserChanges } from './cellWatcher';

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

/** Does something to the cells, and whatever has to be done before and after that. */
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

  /** The user has deleted cells. */
  get deleted(): ISignal<this, IDeletedCells> {
    return this._deleted;
  }

  /** A run, by its key, shows its first cell: it takes the place of earlier runs of its calling cell. */
  get firstCellInserted(): ISignal<this, string> {
    return this._firstCellInserted;
  }

  /** The notebook was read from its file anew. */
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

  /** Take the kernel's changes; whether some before them are missing. */
  receive(message: CellsMessage, caller: string): boolean {
    const run = this._runState(message.run, caller);
    this._enqueue(run, run.sequencer.push(message));
    return run.sequencer.hasGap;
  }

  /** Take all cells of a run; whether later changes are missing nevertheless. */
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

  /** Whether all cells of the run are known and no more will come. */
  isComplete(key: string): boolean {
    return this._runs.get(key)?.complete ?? false;
  }

  /** Nothing of this run comes any more; whether that is new. */
  dismiss(key: string, caller: string): boolean {
    const run = this._runState(key, caller);
    const isNew = !run.dismissed;
    run.dismissed = true;
    this._queue.drop(run);
    return isNew;
  }

  /** The kernel that made the runs is gone: another one may give their keys to other runs. */
  clear(): void {
    this._runs.forEach(run => this._queue.drop(run));
    this._runs.clear();
  }

  /** Remove cells, in one step that can be undone; how many are gone. */
  remove(which: (mark: IMark) => boolean, keepSolution: boolean): number {
    return this._unwatched(() =>
      removeCells(
        this.notebook,
        which,
        cell => keepSolution && markOf(cell)?.role === 'solution'
      )
    );
  }

  /** Cells that are shown as under way, though their run is none of these, were interrupted. */
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
    { deleted, moved }: IUserChanges
  ): void {
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

  private _firstCellInserted = new Signal<this, string>(this);
  private _deleted = new Signal<this, IDeletedCells>(this);
  private _runs = new Map<string, RunCellState>();
  private _watcher: CellWatcher;
  private _queue: ChangeQueue;
  private _isDisposed = false;
}

/** What makes the notebook as the snapshot is. Only what the engine took back goes: all else is the user's to remove. */
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

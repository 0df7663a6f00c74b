/** The cells of all runs in one notebook: brings in what the kernel sends, and tells what the user does to them. */
import type { ISharedNotebook } from '@jupyter/ydoc';
import type { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';

import { isFinal } from '../link/runStatus';
import type { CellChange, CellsMessage, Snapshot } from '../messages';
import { applyChange, IRunChange } from './applyChange';
import { IMark, markOf, NAMESPACE } from './generatedCell';
import type { Schedule } from './scheduling';
import { ChangeQueue } from './changeQueue';
import { removeCells } from './cellRemoval';
import { RunCells } from './runCellState';
import { CellWatcher, ITouched } from './cellWatcher';

/** Cells of a run that the user has deleted. */
export interface IDeleted {
  run: string;
  cells: string[];
}

const UNDER_WAY = new Set(['running', 'exploring', 'starting', 'reviewing']);

/** Does something to the cells, and whatever has to be done before and after that. */
type Around = <T>(act: () => T) => T;

export class NotebookCells implements IDisposable {
  /**
   * @param notebook - the document
   * @param schedule - when changes are applied
   * @param around - how cells are made to come and go
   */
  constructor(
    readonly notebook: ISharedNotebook,
    schedule?: Schedule,
    private _around: Around = act => act()
  ) {
    this._watcher = new CellWatcher(notebook);
    this._watcher.touched.connect(this._onTouched, this);
    this._queue = new ChangeQueue(
      item => this._apply(item),
      schedule,
      schedule
    );
  }

  /** The user has deleted cells. */
  get deleted(): ISignal<this, IDeleted> {
    return this._deleted;
  }

  /** A run, by its key, shows its first cell: it takes the place of earlier runs of its calling cell. */
  get begun(): ISignal<this, string> {
    return this._begun;
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
    const run = this._run(message.run, caller);
    this._add(run, run.feed.take(message));
    return run.feed.gap;
  }

  /** Take all cells of a run; whether later changes are missing nevertheless. */
  restore(snapshot: Snapshot, caller: string): boolean {
    const run = this._run(snapshot.run, caller);
    const later = run.feed.skipTo(snapshot.seq);
    if (later !== null) {
      run.complete = isFinal(snapshot.state);
      run.runId = snapshot.state.run_id || run.runId;
      this._queue.drop(run);
      this._add(run, [...difference(run, snapshot), ...later]);
    }
    return run.feed.gap;
  }

  /** Whether all cells of the run are known and no more will come. */
  isComplete(key: string): boolean {
    return this._runs.get(key)?.complete ?? false;
  }

  /** Nothing of this run comes any more; whether that is new. */
  dismiss(key: string, caller: string): boolean {
    const run = this._run(key, caller);
    const isNew = !run.dismissed;
    run.dismissed = true;
    this._queue.drop(run);
    return isNew;
  }

  /** The kernel that made the runs is gone: another one may give their keys to other runs. */
  forget(): void {
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
  interruptOthers(alive: ReadonlySet<string>): void {
    const dead = this.notebook.cells.filter(cell => {
      const mark = markOf(cell);
      return mark && !alive.has(mark.run_id) && UNDER_WAY.has(mark.status!);
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

  private _run(key: string, caller: string): RunCells {
    let run = this._runs.get(key);
    if (!run) {
      run = new RunCells(key, caller);
      this._runs.set(key, run);
    }
    return run;
  }

  private _add(run: RunCells, changes: readonly CellChange[]): void {
    this._queue.add(changes.map((change): IRunChange => ({ run, change })));
  }

  private _apply(item: IRunChange): void {
    const { run } = item;
    const before = run.cleared;
    this._unwatched(() => applyChange(this.notebook, item));
    if (run.cleared && !before) {
      this._begun.emit(run.key);
    }
  }

  private _unwatched<T>(act: () => T): T {
    return this._watcher.unwatched(() => this._around(act));
  }

  private _onTouched(_: CellWatcher, { deleted, moved }: ITouched): void {
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

  private _begun = new Signal<this, string>(this);
  private _deleted = new Signal<this, IDeleted>(this);
  private _runs = new Map<string, RunCells>();
  private _watcher: CellWatcher;
  private _queue: ChangeQueue;
  private _isDisposed = false;
}

/** What makes the notebook as the snapshot is. Only what the engine took back goes: all else is the user's to remove. */
function difference(run: RunCells, snapshot: Snapshot): CellChange[] {
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

/**
 * Detects which generated cells the user deletes or moves. Reloading the notebook from its file is neither: all cells
 * are then new objects, some with the ids of old ones.
 */
import type {
  ISharedCell,
  ISharedNotebook,
  NotebookChange
} from '@jupyter/ydoc';
import type { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';

import { IMark, markOf } from './generatedCell';

/** Generated cells that the user has deleted, moved or brought back, by id. */
export interface IUserChanges {
  deleted: ReadonlyMap<string, IMark>;
  moved: ReadonlyMap<string, IMark>;
  restored: ReadonlyMap<string, IMark>;
}

interface ICellSnapshot {
  cell: ISharedCell;
  mark: IMark | null;
}

export class CellWatcher implements IDisposable {
  constructor(private _notebook: ISharedNotebook) {
    this._cells = this._snapshot();
    _notebook.changed.connect(this._onChanged, this);
  }

  /** Emitted when the user has deleted, moved or brought back generated cells. */
  get userChanged(): ISignal<this, IUserChanges> {
    return this._userChanged;
  }

  /** Emitted when the notebook was reloaded. */
  get reloaded(): ISignal<this, void> {
    return this._reloaded;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Change the notebook without reporting the change. */
  withoutWatching<T>(act: () => T): T {
    this._watching = false;
    try {
      return act();
    } finally {
      this._watching = true;
      this._cells = this._snapshot();
    }
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      this._notebook.changed.disconnect(this._onChanged, this);
      Signal.clearData(this);
    }
  }

  private _onChanged(_: ISharedNotebook, change: NotebookChange): void {
    if (!change.cellsChange || !this._watching) {
      return;
    }
    const before = this._cells;
    const now = (this._cells = this._snapshot());
    const known = [...before].filter(([id]) => now.has(id));
    if (
      known.length &&
      known.every(([id, { cell }]) => now.get(id)!.cell !== cell)
    ) {
      this._reloaded.emit();
      return;
    }
    this._compare(before, now);
  }

  private _compare(
    before: ReadonlyMap<string, ICellSnapshot>,
    now: ReadonlyMap<string, ICellSnapshot>
  ): void {
    const deleted = new Map<string, IMark>();
    const moved = new Map<string, IMark>();
    for (const [id, { cell, mark }] of before) {
      const found = now.get(id);
      if (mark && found?.cell !== cell) {
        (found ? moved : deleted).set(id, mark);
      }
    }
    const restored = new Map<string, IMark>();
    for (const [id, { mark }] of now) {
      if (mark && !before.has(id)) {
        restored.set(id, mark);
      }
    }
    if (deleted.size || moved.size || restored.size) {
      this._userChanged.emit({ deleted, moved, restored });
    }
  }

  private _snapshot(): Map<string, ICellSnapshot> {
    return new Map(
      this._notebook.cells.map(cell => [
        cell.getId(),
        { cell, mark: markOf(cell) }
      ])
    );
  }

  private _userChanged = new Signal<this, IUserChanges>(this);
  private _reloaded = new Signal<this, void>(this);
  private _cells: Map<string, ICellSnapshot>;
  private _watching = true;
  private _isDisposed = false;
}

/**
 * Notes which generated cells the user deletes or moves. A notebook that is read from its file anew is neither: its
 * cells are all other ones than before, and some have the ids of those.
 */
import type {
  ISharedCell,
  ISharedNotebook,
  NotebookChange
} from '@jupyter/ydoc';
import type { IDisposable } from '@lumino/disposable';
import { ISignal, Signal } from '@lumino/signaling';

import { IMark, markOf } from './generatedCell';

/** Generated cells that went away or elsewhere, by id. */
export interface ITouched {
  deleted: ReadonlyMap<string, IMark>;
  moved: ReadonlyMap<string, IMark>;
}

interface ISeen {
  cell: ISharedCell;
  mark: IMark | null;
}

export class CellWatcher implements IDisposable {
  constructor(private _notebook: ISharedNotebook) {
    this._seen = this._look();
    _notebook.changed.connect(this._onChanged, this);
  }

  /** The user has deleted or moved generated cells. */
  get touched(): ISignal<this, ITouched> {
    return this._touched;
  }

  /** The notebook was read anew. */
  get reloaded(): ISignal<this, void> {
    return this._reloaded;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Change the notebook without being noted. */
  unwatched<T>(act: () => T): T {
    this._looking = false;
    try {
      return act();
    } finally {
      this._looking = true;
      this._seen = this._look();
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
    if (!change.cellsChange || !this._looking) {
      return;
    }
    const before = this._seen;
    const now = (this._seen = this._look());
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
    before: ReadonlyMap<string, ISeen>,
    now: ReadonlyMap<string, ISeen>
  ): void {
    const deleted = new Map<string, IMark>();
    const moved = new Map<string, IMark>();
    for (const [id, { cell, mark }] of before) {
      const found = now.get(id);
      if (mark && found?.cell !== cell) {
        (found ? moved : deleted).set(id, mark);
      }
    }
    if (deleted.size || moved.size) {
      this._touched.emit({ deleted, moved });
    }
  }

  private _look(): Map<string, ISeen> {
    return new Map(
      this._notebook.cells.map(cell => [
        cell.getId(),
        { cell, mark: markOf(cell) }
      ])
    );
  }

  private _touched = new Signal<this, ITouched>(this);
  private _reloaded = new Signal<this, void>(this);
  private _seen: Map<string, ISeen>;
  private _looking = true;
  private _isDisposed = false;
}

/** Where the cells of a run belong in the notebook. */
import type { RunCellState } from './runCellState';
import type { TransactionCells } from './transactionCells';

/**
 * The cells of one run in the kernel's order, including those that the user has deleted or moved, so that a new cell
 * can be placed relative to whichever neighbors still exist.
 */
export class CellOrder {
  /** @param anchor - id of the calling cell */
  constructor(readonly anchor: string) {}

  has(id: string): boolean {
    return this._ids.includes(id);
  }

  /** Insert `id` after `after`, or last if that is unknown. An existing id keeps its position. */
  add(id: string, after: string | null): void {
    if (!this.has(id)) {
      this._ids.splice(this._insertionIndex(after), 0, id);
    }
  }

  remove(id: string): void {
    this._ids = this._ids.filter(other => other !== id);
  }

  /** The ids before `id`, nearest first. */
  before(id: string): string[] {
    return this._ids.slice(0, this._ids.indexOf(id)).reverse();
  }

  /** The ids after `id`, nearest first. */
  after(id: string): string[] {
    return this._ids.slice(this._ids.indexOf(id) + 1);
  }

  private _insertionIndex(after: string | null): number {
    if (after === null || after === this.anchor) {
      return 0;
    }
    const at = this._ids.indexOf(after);
    return at === -1 ? this._ids.length : at + 1;
  }

  private _ids: string[] = [];
}

/**
 * Index after the nearest preceding cell of the run that still exists, or after the calling cell, or before a following
 * cell.
 */
export function insertionIndex(
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

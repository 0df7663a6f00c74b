/**
 * The cells of a notebook inside a transaction. A shared notebook updates its list of cells only when a transaction
 * ends; several changes in one transaction need a list that is correct in between.
 */
import type { ISharedCell, ISharedNotebook, SharedCell } from '@jupyter/ydoc';

export class TransactionCells {
  constructor(private _notebook: ISharedNotebook) {
    this._cells = [..._notebook.cells];
  }

  get cells(): readonly ISharedCell[] {
    return this._cells;
  }

  /** Index of the cell, or -1. */
  indexOf(id: string): number {
    return this._cells.findIndex(cell => cell.getId() === id);
  }

  find(id: string): ISharedCell | undefined {
    return this._cells.find(cell => cell.getId() === id);
  }

  insert(index: number, cell: SharedCell.Cell): void {
    this._cells.splice(index, 0, this._notebook.insertCell(index, cell));
  }

  remove(cell: ISharedCell): void {
    const index = this._cells.indexOf(cell);
    this._notebook.deleteCell(index);
    this._cells.splice(index, 1);
  }

  private _cells: ISharedCell[];
}

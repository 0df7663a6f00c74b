/** Shows the task of a cell that starts with `%%explora` as what it is: wrapped prose, not Python. */
import { CodeCell } from '@jupyterlab/cells';
import type { Notebook } from '@jupyterlab/notebook';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';

import { isCallingCell } from './callingCells';

const PROSE = 'text/plain';

/** Changes that follow one another are applied together after this time, in milliseconds. */
const DELAY = 100;

export class CallingCellDisplay implements IDisposable {
  constructor(private _notebook: Notebook) {
    _notebook.modelContentChanged.connect(this._schedule, this);
    this._schedule();
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    this._isDisposed = true;
    window.clearTimeout(this._timer);
    Signal.clearData(this);
  }

  private _schedule(): void {
    if (this._timer === undefined && !this._isDisposed) {
      this._timer = window.setTimeout(() => {
        this._timer = undefined;
        this._apply();
      }, DELAY);
    }
  }

  private _apply(): void {
    for (const cell of this._notebook.widgets) {
      if (cell instanceof CodeCell && !cell.isDisposed) {
        this._applyTo(cell);
      }
    }
  }

  private _applyTo(cell: CodeCell): void {
    // JupyterLab sets the type of all cells when it learns the kernel's language.
    cell.model.mimeTypeChanged.connect(this._schedule, this);
    if (isCallingCell(cell.model.sharedModel)) {
      cell.model.mimeType = PROSE;
      this._show(cell, true);
    } else if (this._wrapped.has(cell)) {
      cell.model.mimeType = this._notebook.codeMimetype;
      this._show(cell, false);
    }
  }

  private _show(cell: CodeCell, prose: boolean): void {
    if (prose === this._wrapped.has(cell)) {
      return;
    }
    this._wrapped[prose ? 'add' : 'delete'](cell);
    const lineWrap = prose || this._notebook.editorConfig.code.lineWrap;
    cell.updateEditorConfig({ lineWrap });
  }

  private _wrapped = new WeakSet<CodeCell>();
  private _isDisposed = false;
  private _timer: number | undefined;
}

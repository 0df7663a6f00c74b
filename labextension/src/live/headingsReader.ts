/**
 * JupyterLab's table of contents reads the headings in all outputs that are new, at one go: seconds for the outputs of many
 * candidates. A cell remembers its headings, so they are read here before, cell by cell, while the page is idle.
 */
import { CodeCell } from '@jupyterlab/cells';
import type { IDisposable } from '@lumino/disposable';

/**
 * How long to wait for an idle moment, in milliseconds. The table of contents reads a second after the last change, and
 * till then a busy page has few.
 */
const LATEST = 50;

/** Calls back once, when the page is idle. */
export type OnIdle = (next: () => void) => void;

export class HeadingsReader implements IDisposable {
  constructor(private _onIdle: OnIdle = onIdle) {}

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Read the headings of this cell each time that it gets other outputs. */
  follow(cell: CodeCell): void {
    const { outputs } = cell.model; // a disposed cell has none
    const read = () => {
      if (outputs.length) {
        this._add(cell);
      }
    };
    outputs.changed.connect(read);
    cell.disposed.connect(() => {
      outputs.changed.disconnect(read);
      this._waiting.delete(cell);
    });
    read();
  }

  dispose(): void {
    this._isDisposed = true;
    this._waiting.clear();
  }

  private _add(cell: CodeCell): void {
    if (!this._isDisposed) {
      this._waiting.add(cell);
      this._wake();
    }
  }

  private _wake(): void {
    if (!this._awake && this._waiting.size) {
      this._awake = true;
      this._onIdle(() => this._step());
    }
  }

  private _step(): void {
    this._awake = false;
    const [cell] = this._waiting;
    if (cell) {
      this._waiting.delete(cell);
      void cell.getHeadings();
    }
    this._wake();
  }

  private _waiting = new Set<CodeCell>();
  private _awake = false;
  private _isDisposed = false;
}

/** Not all browsers tell when they are idle. */
function onIdle(next: () => void): void {
  if (typeof requestIdleCallback === 'function') {
    requestIdleCallback(next, { timeout: LATEST });
  } else {
    setTimeout(next, LATEST);
  }
}

/**
 * JupyterLab's table of contents reads the headings of all new outputs at once, which takes seconds for the outputs of
 * many candidates. A cell caches its headings, so they are read here in advance, cell by cell, while the page is idle.
 */
import { CodeCell } from '@jupyterlab/cells';
import type { IDisposable } from '@lumino/disposable';

/**
 * How long to wait for an idle period, in milliseconds. The table of contents reads headings a second after the last
 * change, and a busy page has few idle periods before that.
 */
const IDLE_TIMEOUT = 50;

/** Calls back once, when the page is idle. */
export type OnIdle = (next: () => void) => void;

export class HeadingsReader implements IDisposable {
  constructor(private _onIdle: OnIdle = onIdle) {}

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  /** Read the headings of this cell whenever its outputs change. */
  track(cell: CodeCell): void {
    const { outputs } = cell.model; // a disposed cell has none
    const read = () => {
      if (outputs.length) {
        this._enqueue(cell);
      }
    };
    outputs.changed.connect(read);
    cell.disposed.connect(() => {
      outputs.changed.disconnect(read);
      this._queue.delete(cell);
    });
    read();
  }

  dispose(): void {
    this._isDisposed = true;
    this._queue.clear();
  }

  private _enqueue(cell: CodeCell): void {
    if (!this._isDisposed) {
      this._queue.add(cell);
      this._schedule();
    }
  }

  private _schedule(): void {
    if (!this._scheduled && this._queue.size) {
      this._scheduled = true;
      this._onIdle(() => this._readNext());
    }
  }

  private _readNext(): void {
    this._scheduled = false;
    const [cell] = this._queue;
    if (cell) {
      this._queue.delete(cell);
      void cell.getHeadings();
    }
    this._schedule();
  }

  private _queue = new Set<CodeCell>();
  private _scheduled = false;
  private _isDisposed = false;
}

/** Not all browsers support `requestIdleCallback`. */
function onIdle(next: () => void): void {
  if (typeof requestIdleCallback === 'function') {
    requestIdleCallback(next, { timeout: IDLE_TIMEOUT });
  } else {
    setTimeout(next, IDLE_TIMEOUT);
  }
}

/**
 * JupyterLab renders a Markdown cell a second after its last change, but the plan of a run changes more often than
 * that. Generated Markdown cells are rendered at once, a few times a second at most.
 */
import type { MarkdownCell } from '@jupyterlab/cells';

import type { Schedule } from './scheduling';

/** Minimum time between two renderings, in milliseconds. */
const MIN_INTERVAL = 250;

export class MarkdownRenderer {
  constructor(
    private _scheduleNext: Schedule = next => setTimeout(next, MIN_INTERVAL)
  ) {}

  /** Render this cell whenever it changes, unless the user is editing it. */
  track(cell: MarkdownCell): void {
    void cell.getHeadings().catch(() => undefined); // JupyterLab waits for them before it collapses a heading
    const { model } = cell; // a disposed cell has none
    const changed = () => this._enqueue(cell);
    model.contentChanged.connect(changed);
    cell.disposed.connect(() => {
      model.contentChanged.disconnect(changed);
      this._queue.delete(cell);
    });
  }

  private _enqueue(cell: MarkdownCell): void {
    this._queue.add(cell);
    this._render();
  }

  private _render(): void {
    if (this._throttled || !this._queue.size) {
      return;
    }
    this._queue.forEach(cell => cell.rendered && cell.update());
    this._queue.clear();
    this._throttled = true;
    this._scheduleNext(() => {
      this._throttled = false;
      this._render();
    });
  }

  private _queue = new Set<MarkdownCell>();
  private _throttled = false;
}

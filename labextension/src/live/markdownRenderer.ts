/**
 * JupyterLab draws a Markdown cell anew a second after its last change; the plan of a run changes more often than that.
 * Generated cells are drawn at once, a few times a second at most.
 */
import type { MarkdownCell } from '@jupyterlab/cells';

import type { Schedule } from './scheduling';

/** The time between two drawings, in milliseconds. */
const REST = 250;

export class MarkdownDrawer {
  constructor(private _rest: Schedule = next => setTimeout(next, REST)) {}

  /** Draw this cell each time that it has changed, unless the user is editing it. */
  follow(cell: MarkdownCell): void {
    const { model } = cell; // a disposed cell has none
    const changed = () => this._add(cell);
    model.contentChanged.connect(changed);
    cell.disposed.connect(() => {
      model.contentChanged.disconnect(changed);
      this._waiting.delete(cell);
    });
  }

  private _add(cell: MarkdownCell): void {
    this._waiting.add(cell);
    this._draw();
  }

  private _draw(): void {
    if (this._resting || !this._waiting.size) {
      return;
    }
    this._waiting.forEach(cell => cell.rendered && cell.update());
    this._waiting.clear();
    this._resting = true;
    this._rest(() => {
      this._resting = false;
      this._draw();
    });
  }

  private _waiting = new Set<MarkdownCell>();
  private _resting = false;
}

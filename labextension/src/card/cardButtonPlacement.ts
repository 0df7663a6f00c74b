/** The buttons below the result cards of one notebook view, added and removed with its cells. */
import { CodeCell } from '@jupyterlab/cells';
import type { CellList, NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import type { PanelLayout } from '@lumino/widgets';

import type { INotebookExplorations } from '../link/explorationInterface';
import { markOf } from '../generatedCells/generatedCell';
import { isCard } from '../generatedCells/cardStatus';
import { CardButtonRow } from './cardButtonRow';
import { CardAction, cardButtons, ICardSubject } from './cardButtons';

/** Called when a button is clicked. */
export type OnCardAction = (
  action: CardAction,
  subject: ICardSubject,
  cell: CodeCell
) => void;

export class CardButtonPlacement implements IDisposable {
  constructor(
    private _panel: NotebookPanel,
    private _model: INotebookExplorations,
    private _comparable: (runId: string) => boolean,
    private _onAction: OnCardAction,
    private _trans: TranslationBundle
  ) {
    this._cells = _panel.content.model?.cells ?? null;
    this._cells?.changed.connect(this._refresh, this);
    this._model.changed.connect(this._refresh, this);
    this._refresh();
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      this._cells?.changed.disconnect(this._refresh, this);
      this._model.changed.disconnect(this._refresh, this);
      this._bars.forEach(bar => bar.dispose());
      Signal.clearData(this);
    }
  }

  private _refresh(): void {
    const subjects = this._subjects();
    for (const cell of this._panel.content.widgets) {
      if (cell instanceof CodeCell && subjects.has(cell.model.id)) {
        this._attach(cell);
      }
    }
    this._bars.forEach((bar, cell) => {
      const subject = cell.isDisposed ? undefined : subjects.get(cell.model.id);
      const shown = subject && hasCard(cell) ? subject : undefined;
      bar.setButtons(shown ? this._buttons(shown) : [], shown?.run);
    });
  }

  private _buttons(subject: ICardSubject) {
    const { _model, _trans } = this;
    return cardButtons(subject, _model, this._comparable, _trans);
  }

  /** What the card of each calling cell is about: its newest run, or the cells that an earlier kernel left. */
  private _subjects(): Map<string, ICardSubject> {
    const found = new Map<string, ICardSubject>();
    const runs = new Map(this._model.runs.map(run => [run.cell ?? '', run]));
    for (const { model } of this._panel.content.widgets) {
      const mark = markOf(model);
      if (mark?.caller) {
        const known = found.get(mark.caller);
        const solution = mark.role === 'solution' ? model.id : known?.solution;
        const runId = mark.run_id;
        found.set(mark.caller, { runId, hasCells: true, solution });
      }
    }
    runs.forEach((run, cell) => {
      const cells = found.get(cell);
      const its = cells?.runId === run.run_id ? cells : undefined;
      const { hasCells = false, solution } = its ?? {};
      found.set(cell, { runId: run.run_id, run, hasCells, solution });
    });
    return found;
  }

  private _attach(cell: CodeCell): void {
    if (this._bars.has(cell)) {
      return;
    }
    const act = (action: CardAction) => {
      const subject = this._subjects().get(cell.model.id);
      if (subject) {
        this._onAction(action, subject, cell);
      }
    };
    const bar = new CardButtonRow(act, this._trans);
    this._bars.set(cell, bar);
    const { outputs } = cell.model; // a disposed cell has none
    const refresh = () => this._refresh();
    outputs.changed.connect(refresh);
    cell.disposed.connect(() => {
      outputs.changed.disconnect(refresh);
      this._bars.delete(cell);
    });
    cell.ready
      .then(() => {
        const layout = cell.layout as PanelLayout | null; // none once it is disposed
        layout?.insertWidget(layout.widgets.length - 1, bar); // above the footer
      })
      .catch(() => undefined); // removed before it was rendered
  }

  private _cells: CellList | null;
  private _bars = new Map<CodeCell, CardButtonRow>();
  private _isDisposed = false;
}

/** Whether the card is in the cell's output: the user may have cleared it. */
function hasCard(cell: CodeCell): boolean {
  const { outputs } = cell.model;
  for (let index = 0; index < outputs.length; index++) {
    if (isCard(outputs.get(index).data['text/html'])) {
      return true;
    }
  }
  return false;
}

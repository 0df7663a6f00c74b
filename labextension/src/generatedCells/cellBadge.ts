/** The badges of one notebook view: a line above the source of each generated cell, added and removed with its view. */
import { Cell, CodeCell, ICellModel, MarkdownCell } from '@jupyterlab/cells';
import { CellList, NotebookPanel } from '@jupyterlab/notebook';
import type { IObservableList } from '@jupyterlab/observables';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import { PanelLayout, Widget } from '@lumino/widgets';

import type { INotebookExplorations } from '../link/explorationInterface';
import type { RunView } from '../messages';
import {
  BadgeAction,
  badgeContent,
  headingBadge,
  IBadgeContent
} from './badgeContent';
import { appendButton, appendElement, focusedAction } from './domElements';
import { FOLDED_CLASS, foldOf, IFold, toggleFold } from './foldedCandidate';
import { HeadingsReader } from './headingsReader';
import { IMark, isEdited, markOf } from './generatedCell';
import { MarkdownRenderer } from './markdownRenderer';

/** CSS class of generated cells, for styles and the context menu. */
const CELL_CLASS = 'jp-Explora-cell';

/** CSS class of a heading that is shown as a badge. */
const HEADING_CLASS = 'jp-Explora-heading';

/** Called when a button of a badge is clicked. */
export type OnBadgeAction = (action: BadgeAction, cell: Cell) => void;

/** The content of a badge, and what it shows of a cell that it can open and close. */
export interface IFoldableBadge extends IBadgeContent {
  fold: IFold | null;
}

/** The line above one cell. */
export class CellBadge extends Widget {
  constructor(
    readonly cell: Cell,
    private _compute: (runs: readonly RunView[]) => IFoldableBadge | null,
    private _onAction: (action: BadgeAction) => void,
    private _trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-Explora-badge');
    this.node.setAttribute('role', 'group');
    // Keys typed here do not trigger notebook shortcuts.
    this.node.setAttribute('data-lm-suppress-shortcuts', 'true');
  }

  /** Render the badge again if its content has changed. */
  refresh(runs: readonly RunView[]): void {
    const view = this._compute(runs);
    const now = JSON.stringify(view);
    if (now !== this._rendered) {
      this._rendered = now;
      this.setHidden(view === null);
      this._render(view);
    }
  }

  private _render(view: IFoldableBadge | null): void {
    const focused = focusedAction(this.node);
    this.node.replaceChildren();
    if (view === null) {
      return;
    }
    const label = [view.name, view.status, ...view.details];
    this.node.setAttribute('aria-label', label.filter(Boolean).join(', '));
    const line = appendElement(this.node, 'div', 'jp-Explora-badge-line');
    if (view.fold) {
      this._addToggle(line, view.name, view.fold.open);
    } else {
      appendElement(line, 'strong', 'jp-Explora-badge-name', view.name);
    }
    if (view.status) {
      const status = appendElement(line, 'span', 'jp-Explora-badge-status');
      appendElement(status, 'span', '', view.sign).setAttribute(
        'aria-hidden',
        'true'
      );
      appendElement(status, 'span', '', ` ${view.status}`);
    }
    for (const detail of view.details) {
      appendElement(line, 'span', 'jp-Explora-badge-detail', detail);
    }
    if (view.fold?.code && !view.fold.open) {
      appendElement(line, 'code', 'jp-Explora-badge-code', view.fold.code);
      appendElement(line, 'span', 'jp-Explora-badge-result', view.fold.result);
    }
    view.buttons.forEach(button => appendButton(line, button, this._onAction));
    if (view.why.length) {
      this._addReasons(line, view.why);
    }
    this._restoreFocus(focused);
  }

  /** The button that opens and closes the cell. */
  private _addToggle(line: HTMLElement, name: string, open: boolean): void {
    const button = appendElement(line, 'button', 'jp-Explora-badge-toggle');
    const sign = appendElement(button, 'span', '', open ? '▾ ' : '▸ ');
    sign.setAttribute('aria-hidden', 'true');
    appendElement(button, 'strong', 'jp-Explora-badge-name', name);
    button.type = 'button';
    const cells = this.cell instanceof MarkdownCell;
    button.title = open
      ? this._trans.__('Show only one line')
      : cells
        ? this._trans.__('Show what was tried')
        : this._trans.__('Show code and output');
    button.dataset.action = 'toggle';
    button.setAttribute('aria-expanded', String(open));
    button.onclick = () => toggleFold(this.cell);
  }

  private _addReasons(line: HTMLElement, why: string[]): void {
    const label = this._trans.__('Why?');
    const button = appendElement(
      line,
      'button',
      'jp-Explora-badge-button',
      label
    );
    button.type = 'button';
    button.title = this._trans.__('Why this candidate was carried forward');
    button.dataset.action = 'why';
    const list = appendElement(this.node, 'ul', 'jp-Explora-badge-why');
    why.forEach(reason => appendElement(list, 'li', '', reason));
    const toggle = () => {
      list.hidden = !this._reasonsOpen;
      button.setAttribute('aria-expanded', String(this._reasonsOpen));
    };
    button.onclick = () => {
      this._reasonsOpen = !this._reasonsOpen;
      toggle();
    };
    toggle();
  }

  private _restoreFocus(action: string | undefined): void {
    if (action) {
      const buttons = [...this.node.querySelectorAll('button')];
      buttons.find(button => button.dataset.action === action)?.focus();
    }
  }

  private _rendered = '';
  private _reasonsOpen = false;
}

export class NotebookBadges implements IDisposable {
  constructor(
    private _panel: NotebookPanel,
    private _model: INotebookExplorations,
    private _onAction: OnBadgeAction,
    private _trans: TranslationBundle
  ) {
    this._cells = _panel.content.model?.cells ?? null;
    // The notebook connected its handler first, so its widgets exist when ours is called.
    this._cells?.changed.connect(this._onCells, this);
    _model.changed.connect(this._refresh, this);
    this._attachAll();
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      this._cells?.changed.disconnect(this._onCells, this);
      this._model.changed.disconnect(this._refresh, this);
      this._badges.forEach(badge => badge.dispose());
      this._headings.dispose();
      Signal.clearData(this);
    }
  }

  private _onCells(
    _: CellList,
    change: IObservableList.IChangedArgs<ICellModel>
  ): void {
    if (change.type === 'add') {
      change.newValues.forEach((_, index) =>
        this._attach(this._panel.content.widgets[change.newIndex + index])
      );
    } else if (change.type !== 'remove') {
      this._attachAll();
    }
  }

  private _attachAll(): void {
    this._panel.content.widgets.forEach(cell => this._attach(cell));
  }

  private _attach(cell: Cell | undefined): void {
    if (!cell || this._attached.has(cell) || !markOf(cell.model)) {
      return;
    }
    this._attached.add(cell);
    cell.addClass(CELL_CLASS);
    if (cell instanceof CodeCell) {
      this._headings.track(cell);
    } else if (cell instanceof MarkdownCell) {
      this._markdown.track(cell);
    }
    cell.ready.then(() => this._addBadge(cell)).catch(() => undefined); // removed before it was rendered
  }

  private _addBadge(cell: Cell): void {
    if (cell.isDisposed || this._isDisposed) {
      return;
    }
    const badge = new CellBadge(
      cell,
      runs => this._computeContent(cell, runs),
      action => this._onAction(action, cell),
      this._trans
    );
    this._badges.add(badge);
    const { model } = cell; // a disposed cell has none
    const refresh = () => {
      this._folds.delete(cell);
      cell.toggleClass(CELL_CLASS, markOf(model) !== null);
      badge.refresh(this._model.runs);
    };
    model.metadataChanged.connect(refresh);
    model.contentChanged.connect(refresh);
    cell.disposed.connect(() => {
      model.metadataChanged.disconnect(refresh);
      model.contentChanged.disconnect(refresh);
      this._badges.delete(badge);
    });
    badge.refresh(this._model.runs);
    (cell.layout as PanelLayout).insertWidget(1, badge); // below the header
  }

  private _computeContent(
    cell: Cell,
    runs: readonly RunView[]
  ): IFoldableBadge | null {
    const mark = cell.isDisposed ? null : markOf(cell.model);
    const run = runs.find(view => view.run_id === mark?.run_id);
    const edited = mark !== null && isEdited(cell.model.sharedModel);
    const heading =
      mark && cell instanceof MarkdownCell && !edited
        ? headingBadge(mark, cell.model.sharedModel.getSource(), this._trans)
        : null;
    const content =
      heading ??
      (mark && badgeContent(mark, edited, run, this._model, this._trans));
    const fold = content && !edited ? this._foldOf(cell, mark!) : null;
    cell.toggleClass(HEADING_CLASS, heading !== null);
    cell.toggleClass(FOLDED_CLASS, !heading && fold?.open === false);
    return content && { ...content, fold };
  }

  /** Outputs can be large, so the line of a cell is made again only when the cell has changed. */
  private _foldOf(cell: Cell, mark: IMark): IFold | null {
    if (!this._folds.has(cell)) {
      this._folds.set(cell, foldOf(cell, mark));
    }
    return this._folds.get(cell) ?? null;
  }

  private _refresh(): void {
    const { runs } = this._model;
    this._badges.forEach(badge => badge.refresh(runs));
  }

  private _cells: CellList | null;
  private _attached = new WeakSet<Cell>();
  private _folds = new WeakMap<Cell, IFold | null>();
  private _badges = new Set<CellBadge>();
  private _markdown = new MarkdownRenderer();
  private _headings = new HeadingsReader();
  private _isDisposed = false;
}

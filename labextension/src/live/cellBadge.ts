/** The badges of one notebook view: a line above the source of each generated cell, added and removed with its view. */
import { Cell, CodeCell, ICellModel, MarkdownCell } from '@jupyterlab/cells';
import { CellList, NotebookPanel } from '@jupyterlab/notebook';
import type { IObservableList } from '@jupyterlab/observables';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import { PanelLayout, Widget } from '@lumino/widgets';

import type { IExplorationModel } from '../link/tokens';
import type { RunView } from '../messages';
import {
  BadgeAction,
  badgeContent,
  IBadgeButton,
  IBadgeContent
} from './badgeContent';
import { HeadingsReader } from './headingsReader';
import { isEdited, markOf } from './generatedCell';
import { MarkdownRenderer } from './markdownRenderer';

/** CSS class of generated cells, for styles and the context menu. */
const CELL_CLASS = 'jp-Explora-cell';

/** Called when a button of a badge is clicked. */
export type OnBadgeAction = (action: BadgeAction, cell: Cell) => void;

/** The line above one cell. */
export class CellBadge extends Widget {
  constructor(
    readonly cell: Cell,
    private _compute: (runs: readonly RunView[]) => IBadgeContent | null,
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

  private _render(view: IBadgeContent | null): void {
    const focused = this._focusedAction();
    this.node.replaceChildren();
    if (view === null) {
      return;
    }
    const label = [view.name, view.status, ...view.details];
    this.node.setAttribute('aria-label', label.filter(Boolean).join(', '));
    const line = appendElement(this.node, 'div', 'jp-Explora-badge-line');
    appendElement(line, 'strong', 'jp-Explora-badge-name', view.name);
    const status = appendElement(line, 'span', 'jp-Explora-badge-status');
    appendElement(status, 'span', '', view.sign).setAttribute(
      'aria-hidden',
      'true'
    );
    appendElement(status, 'span', '', ` ${view.status}`);
    for (const detail of view.details) {
      appendElement(line, 'span', 'jp-Explora-badge-detail', detail);
    }
    view.buttons.forEach(button => this._addButton(line, button));
    if (view.why.length) {
      this._addReasons(line, view.why);
    }
    this._restoreFocus(focused);
  }

  private _addButton(line: HTMLElement, shown: IBadgeButton): void {
    const button = appendElement(
      line,
      'button',
      'jp-Explora-badge-button',
      shown.label
    );
    button.type = 'button';
    button.title = shown.caption;
    button.dataset.action = shown.action;
    // A disabled button would lose the focus.
    button.setAttribute('aria-disabled', String(shown.disabled));
    button.onclick = () => {
      if (!shown.disabled) {
        this._onAction(shown.action);
      }
    };
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

  private _focusedAction(): string | undefined {
    const active = document.activeElement;
    return active instanceof HTMLElement && this.node.contains(active)
      ? active.dataset.action
      : undefined;
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
    private _model: IExplorationModel,
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
  ): IBadgeContent | null {
    const mark = cell.isDisposed ? null : markOf(cell.model);
    const run = runs.find(view => view.run_id === mark?.run_id);
    const edited = mark !== null && isEdited(cell.model.sharedModel);
    return mark && badgeContent(mark, edited, run, this._model, this._trans);
  }

  private _refresh(): void {
    const { runs } = this._model;
    this._badges.forEach(badge => badge.refresh(runs));
  }

  private _cells: CellList | null;
  private _attached = new WeakSet<Cell>();
  private _badges = new Set<CellBadge>();
  private _markdown = new MarkdownRenderer();
  private _headings = new HeadingsReader();
  private _isDisposed = false;
}

function appendElement<K extends keyof HTMLElementTagNameMap>(
  parent: HTMLElement,
  tag: K,
  name: string,
  text = ''
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  if (name) {
    node.className = name;
  }
  node.textContent = text;
  parent.appendChild(node);
  return node;
}

/** The badges of one notebook view: a line above the source of each generated cell, as its view comes and goes. */
import { Cell, CodeCell, ICellModel, MarkdownCell } from '@jupyterlab/cells';
import { CellList, NotebookPanel } from '@jupyterlab/notebook';
import type { IObservableList } from '@jupyterlab/observables';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';
import { PanelLayout, Widget } from '@lumino/widgets';

import type { IExplorationModel } from '../link/tokens';
import type { RunView } from '../messages';
import { BadgeAction, badgeView, IBadgeButton, IBadgeView } from './badgeContent';
import { HeadingsReader } from './headingsReader';
import { isEdited, markOf } from './generatedCell';
import { MarkdownDrawer } from './markdownRenderer';

/** Marks cells that we have generated, for styles and for the context menu. */
const CELL_CLASS = 'jp-Explora-cell';

/** What a badge's button asks for. */
export type OnBadge = (action: BadgeAction, cell: Cell) => void;

/** The line above one cell. */
export class CellBadge extends Widget {
  constructor(
    readonly cell: Cell,
    private _compute: (runs: readonly RunView[]) => IBadgeView | null,
    private _act: (action: BadgeAction) => void,
    private _trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-Explora-badge');
    this.node.setAttribute('role', 'group');
    // Keys typed here are not the notebook's.
    this.node.setAttribute('data-lm-suppress-shortcuts', 'true');
  }

  /** Show what has changed since. */
  refresh(runs: readonly RunView[]): void {
    const view = this._compute(runs);
    const now = JSON.stringify(view);
    if (now !== this._shown) {
      this._shown = now;
      this.setHidden(view === null);
      this._render(view);
    }
  }

  private _render(view: IBadgeView | null): void {
    const focused = this._focused();
    this.node.replaceChildren();
    if (view === null) {
      return;
    }
    const said = [view.name, view.status, ...view.details];
    this.node.setAttribute('aria-label', said.filter(Boolean).join(', '));
    const line = child(this.node, 'div', 'jp-Explora-badge-line');
    child(line, 'strong', 'jp-Explora-badge-name', view.name);
    const status = child(line, 'span', 'jp-Explora-badge-status');
    child(status, 'span', '', view.sign).setAttribute('aria-hidden', 'true');
    child(status, 'span', '', ` ${view.status}`);
    for (const detail of view.details) {
      child(line, 'span', 'jp-Explora-badge-detail', detail);
    }
    view.buttons.forEach(button => this._button(line, button));
    if (view.why.length) {
      this._why(line, view.why);
    }
    this._focus(focused);
  }

  private _button(line: HTMLElement, shown: IBadgeButton): void {
    const button = child(
      line,
      'button',
      'jp-Explora-badge-button',
      shown.label
    );
    button.type = 'button';
    button.title = shown.caption;
    button.dataset.action = shown.action;
    // One that is disabled would lose the focus.
    button.setAttribute('aria-disabled', String(shown.disabled));
    button.onclick = () => {
      if (!shown.disabled) {
        this._act(shown.action);
      }
    };
  }

  private _why(line: HTMLElement, why: string[]): void {
    const label = this._trans.__('Why?');
    const button = child(line, 'button', 'jp-Explora-badge-button', label);
    button.type = 'button';
    button.title = this._trans.__('Why this candidate was carried forward');
    button.dataset.action = 'why';
    const list = child(this.node, 'ul', 'jp-Explora-badge-why');
    why.forEach(reason => child(list, 'li', '', reason));
    const toggle = () => {
      list.hidden = !this._open;
      button.setAttribute('aria-expanded', String(this._open));
    };
    button.onclick = () => {
      this._open = !this._open;
      toggle();
    };
    toggle();
  }

  private _focused(): string | undefined {
    const active = document.activeElement;
    return active instanceof HTMLElement && this.node.contains(active)
      ? active.dataset.action
      : undefined;
  }

  private _focus(action: string | undefined): void {
    if (action) {
      const buttons = [...this.node.querySelectorAll('button')];
      buttons.find(button => button.dataset.action === action)?.focus();
    }
  }

  private _shown = '';
  private _open = false;
}

export class NotebookBadges implements IDisposable {
  constructor(
    private _panel: NotebookPanel,
    private _model: IExplorationModel,
    private _act: OnBadge,
    private _trans: TranslationBundle
  ) {
    this._cells = _panel.content.model?.cells ?? null;
    // The notebook has connected before, so that its widgets are there when we hear of cells.
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
    if (!cell || this._known.has(cell) || !markOf(cell.model)) {
      return;
    }
    this._known.add(cell);
    cell.addClass(CELL_CLASS);
    if (cell instanceof CodeCell) {
      this._headings.follow(cell);
    } else if (cell instanceof MarkdownCell) {
      this._markdown.follow(cell);
    }
    cell.ready.then(() => this._show(cell)).catch(() => undefined); // it went away before it was ever seen
  }

  private _show(cell: Cell): void {
    if (cell.isDisposed || this._isDisposed) {
      return;
    }
    const badge = new CellBadge(
      cell,
      runs => this._view(cell, runs),
      action => this._act(action, cell),
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

  private _view(cell: Cell, runs: readonly RunView[]): IBadgeView | null {
    const mark = cell.isDisposed ? null : markOf(cell.model);
    const run = runs.find(view => view.run_id === mark?.run_id);
    const edited = mark !== null && isEdited(cell.model.sharedModel);
    return mark && badgeView(mark, edited, run, this._model, this._trans);
  }

  private _refresh(): void {
    const { runs } = this._model;
    this._badges.forEach(badge => badge.refresh(runs));
  }

  private _cells: CellList | null;
  private _known = new WeakSet<Cell>();
  private _badges = new Set<CellBadge>();
  private _markdown = new MarkdownDrawer();
  private _headings = new HeadingsReader();
  private _isDisposed = false;
}

function child<K extends keyof HTMLElementTagNameMap>(
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

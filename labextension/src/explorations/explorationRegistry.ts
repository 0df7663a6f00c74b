/** The explorations of all open notebooks: one model for each document, however many views it has. */
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type {
  INotebookModel,
  INotebookTracker,
  NotebookPanel
} from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import { ISignal, Signal } from '@lumino/signaling';

import type { IExplorations } from '../link/explorationInterface';
import { NotebookExplorations } from './notebookExplorations';

type Context = DocumentRegistry.IContext<INotebookModel>;

export class ExplorationRegistry implements IExplorations {
  constructor(
    tracker: INotebookTracker,
    private _page: Promise<string>,
    private _trans: TranslationBundle
  ) {
    tracker.forEach(panel => this._add(panel));
    tracker.widgetAdded.connect((_, panel) => this._add(panel));
    tracker.currentChanged.connect((_, panel) => this._setCurrent(panel));
    this._setCurrent(tracker.currentWidget);
  }

  get current(): NotebookExplorations | null {
    return this._current;
  }

  get currentChanged(): ISignal<this, NotebookExplorations | null> {
    return this._currentChanged;
  }

  /** Emitted when a notebook has been opened or has got another view. */
  get panelAdded(): ISignal<this, NotebookPanel> {
    return this._added;
  }

  forPanel(panel: NotebookPanel): NotebookExplorations | undefined {
    return this._models.get(panel.context);
  }

  forModel(notebook: INotebookModel): NotebookExplorations | undefined {
    return this._all.find(({ panel }) => panel.context.model === notebook);
  }

  private _add(panel: NotebookPanel): void {
    this._modelOf(panel);
    this._added.emit(panel);
  }

  private _modelOf(panel: NotebookPanel): NotebookExplorations {
    const { context } = panel;
    const known = this._models.get(context);
    if (known) {
      return known;
    }
    const model: NotebookExplorations = new NotebookExplorations(
      panel,
      this._page,
      this._trans,
      cell => this._all.some(other => other !== model && other.hasCell(cell))
    );
    this._models.set(context, model);
    context.disposed.connect(() => {
      this._models.delete(context);
      model.dispose();
    });
    return model;
  }

  private get _all(): NotebookExplorations[] {
    return [...this._models.values()];
  }

  private _setCurrent(panel: NotebookPanel | null): void {
    // The tracker may make a panel current before it emits `widgetAdded`.
    const model = panel ? this._modelOf(panel) : null;
    if (panel && model) {
      model.panel = panel;
    }
    if (this._current !== model) {
      this._current = model;
      this._currentChanged.emit(this._current);
    }
  }

  private _models = new Map<Context, NotebookExplorations>();
  private _current: NotebookExplorations | null = null;
  private _currentChanged = new Signal<this, NotebookExplorations | null>(this);
  private _added = new Signal<this, NotebookPanel>(this);
}

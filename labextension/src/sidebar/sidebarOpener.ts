/**
 * Opens the sidebar when a run starts, as often as the user's settings say.
 */
import type { IDisposable } from '@lumino/disposable';

import { isFinished } from '../link/runStatus';
import type {
  INotebookExplorations,
  IExplorations
} from '../link/explorationInterface';
import type { IPreferences } from './sidebarPreferences';

export class SidebarOpener implements IDisposable {
  constructor(
    private explorations: IExplorations,
    private preferences: () => IPreferences,
    private open: () => void
  ) {
    explorations.currentChanged.connect(this.onCurrentChanged, this);
    this.onCurrentChanged();
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    if (!this._isDisposed) {
      this._isDisposed = true;
      this.explorations.currentChanged.disconnect(this.onCurrentChanged, this);
      this.model?.changed.disconnect(this.onModelChanged, this);
    }
  }

  /** Runs that exist when a notebook becomes current do not count as starting. */
  private onCurrentChanged(): void {
    this.model?.changed.disconnect(this.onModelChanged, this);
    this.model = this.explorations.current;
    this.model?.runs.forEach(run => this.seen.add(run.key));
    this.model?.changed.connect(this.onModelChanged, this);
  }

  private onModelChanged(model: INotebookExplorations): void {
    const fresh = model.runs.filter(
      run => !this.seen.has(run.key) && !isFinished(run)
    );
    model.runs.forEach(run => this.seen.add(run.key));
    const { openOnRun } = this.preferences();
    const wanted =
      openOnRun === 'always' || (openOnRun === 'first' && !this.opened);
    if (fresh.length && wanted) {
      this.opened = true;
      this.open();
    }
  }

  private model: INotebookExplorations | null = null;
  /** Keys of different kernels may coincide. A run that is missed for that reason only fails to open the sidebar. */
  private seen = new Set<string>();
  private opened = false;
  private _isDisposed = false;
}

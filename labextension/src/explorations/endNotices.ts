/** Notices of runs that ended while their notebook was out of view. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { IDisposable } from '@lumino/disposable';
import { Signal } from '@lumino/signaling';

import { showCell } from '../generatedCells/notebookActions';
import { isFinished } from '../link/runStatus';
import type { INotebookExplorations } from '../link/explorationInterface';
import type { RunView } from '../messages';
import { runStatusLabel } from '../shared/statusLabels';

const MAX_TASK_LENGTH = 80;

/** How long a notice covers the page, in milliseconds; afterwards it is in JupyterLab's list of notifications. */
const SHOWN_FOR = 15_000;

export class EndNotices implements IDisposable {
  constructor(
    private _panel: NotebookPanel,
    private _model: INotebookExplorations,
    private _shell: JupyterFrontEnd.IShell,
    private _trans: TranslationBundle
  ) {
    _model.changed.connect(this._refresh, this);
    this._refresh();
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    this._isDisposed = true;
    Signal.clearData(this);
  }

  private _refresh(): void {
    for (const run of this._model.runs) {
      if (!isFinished(run)) {
        this._unfinished.add(run.run_id);
      } else if (this._unfinished.delete(run.run_id) && !this._isInView()) {
        this._notify(run);
      }
    }
  }

  private _isInView(): boolean {
    return this._panel.isVisible && document.visibilityState === 'visible';
  }

  private _notify(run: RunView): void {
    const [line] = run.task.trim().split('\n');
    const task =
      line.length > MAX_TASK_LENGTH
        ? `${line.slice(0, MAX_TASK_LENGTH - 1)}…`
        : line;
    const { text } = runStatusLabel(run.status, this._trans);
    const message = this._trans.__(
      '%1 in %2: %3',
      text,
      this._panel.title.label,
      task
    );
    const kind = run.status === 'solved' ? 'success' : 'info';
    Notification.emit(message, kind, {
      autoClose: SHOWN_FOR,
      actions: [
        {
          label: this._trans.__('Show'),
          callback: () => {
            this._shell.activateById(this._panel.id);
            showCell(this._panel, run.cell ?? '', true);
          }
        }
      ]
    });
  }

  private _isDisposed = false;
  private _unfinished = new Set<string>();
}

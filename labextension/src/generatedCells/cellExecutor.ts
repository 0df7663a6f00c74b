/**
 * Runs cells as usual, except recorded candidates, whose outputs are kept. A calling cell does not explore again when
 * it is run together with others, as by "Run All": that would replace its generated cells.
 */
import { Notification } from '@jupyterlab/apputils';
import {
  INotebookCellExecutor,
  INotebookModel,
  runCell
} from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';

import { hasGeneratedCells } from './callingCells';
import { isGuarded, makeRunnable } from './generatedCell';
import { asOneUndoStep } from './cellRemoval';

type Options = INotebookCellExecutor.IRunCellOptions;

/** Cells of one notebook that are run at the same time. */
interface IBatch {
  count: number;
  notified: boolean;
  complete: Promise<void>;
}

export class ExplorationCellExecutor implements INotebookCellExecutor {
  /**
   * @param trans - translations of messages to the user
   * @param run - runs a cell
   */
  constructor(
    private _trans: TranslationBundle,
    private _run: (options: Options) => Promise<boolean> = runCell
  ) {}

  async runCell(options: Options): Promise<boolean> {
    const batch = this._joinBatch(options.notebook);
    const { sharedModel } = options.cell.model;
    if (isGuarded(sharedModel)) {
      await batch.complete;
      if (batch.count === 1) {
        this._notifyRecorded(options);
      }
      return true;
    }
    if (hasGeneratedCells(options.notebook.sharedModel, sharedModel)) {
      await batch.complete;
      if (batch.count > 1) {
        this._notifySkipped(batch);
        return true;
      }
    }
    return this._run(options);
  }

  /** JupyterLab calls `runCell` for all cells that are run together before any other task. */
  private _joinBatch(notebook: INotebookModel): IBatch {
    const batch = this._batches.get(notebook) ?? this._startBatch(notebook);
    batch.count += 1;
    return batch;
  }

  private _startBatch(notebook: INotebookModel): IBatch {
    const complete = Promise.resolve().then(() => {
      this._batches.delete(notebook);
    });
    const batch = { count: 0, notified: false, complete };
    this._batches.set(notebook, batch);
    return batch;
  }

  private _notifyRecorded({ cell, notebook }: Options): void {
    const trans = this._trans;
    const { sharedModel } = cell.model;
    const callback = () =>
      asOneUndoStep(notebook.sharedModel, () => makeRunnable(sharedModel));
    Notification.info(
      trans.__(
        'This cell is a recording: it ran in another kernel and is not run here.'
      ),
      {
        autoClose: 10_000,
        actions: [
          {
            label: trans.__('Make it mine'),
            caption: trans.__('Make it an ordinary cell that you can run'),
            callback
          }
        ]
      }
    );
  }

  private _notifySkipped(batch: IBatch): void {
    if (!batch.notified) {
      batch.notified = true;
      Notification.info(
        this._trans.__(
          'Existing explorations were not repeated. Run a %%explora cell by itself to explore again.'
        ),
        { autoClose: 6_000 }
      );
    }
  }

  private _batches = new Map<INotebookModel, IBatch>();
}

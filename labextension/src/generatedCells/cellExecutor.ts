/**
 * Runs cells as usual, except recorded candidates, whose outputs are kept. A calling cell does not explore again when
 * it is run together with others, as by "Run All": that would replace its generated cells. A solution, and the cells
 * that are run after it, wait until it is known that the user agrees to what it replaces; a cell that needs the package
 * in the kernel, and those that are run after it, until the kernel has it.
 */
import type { ISharedCell } from '@jupyter/ydoc';
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
import type { ISolutionGuard } from './replacementGuard';

type Options = INotebookCellExecutor.IRunCellOptions;

/** Cells of one notebook that are run at the same time. */
interface IBatch {
  count: number;
  notified: boolean;
  complete: Promise<void>;
  /** Those with solutions. */
  solutions: ISharedCell[];
  /** How many cells wait for the decision about them, themselves included. */
  waiting: number;
  /** Whether a cell has failed, after which the kernel skips those that it has already received. */
  failed: boolean;
}

export class ExplorationCellExecutor implements INotebookCellExecutor {
  /**
   * @param trans - translations of messages to the user
   * @param run - runs a cell
   * @param guard - decides whether solutions are run
   * @param prepare - gives the kernel what a cell needs, if it needs anything; never rejects
   */
  constructor(
    private _trans: TranslationBundle,
    private _run: (options: Options) => Promise<boolean> = runCell,
    private _guard?: ISolutionGuard,
    private _prepare?: (options: Options) => Promise<void> | undefined
  ) {}

  async runCell(options: Options): Promise<boolean> {
    const batch = this._joinBatch(options.notebook);
    const { sharedModel } = options.cell.model;
    const allowed = this._joinDecision(batch, options);
    const prepared = this._joinPreparation(options);
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
    if (prepared) {
      await prepared;
    }
    if (
      (allowed && !(await allowed)) ||
      ((allowed || prepared) && (batch.failed || options.cell.isDisposed))
    ) {
      return false;
    }
    return this._runInBatch(batch, options);
  }

  private async _runInBatch(batch: IBatch, options: Options): Promise<boolean> {
    let failed = !mayFail(options.cell.model.sharedModel);
    try {
      const ran = await this._run(options);
      failed &&= !ran;
      return ran;
    } finally {
      batch.failed ||= failed;
    }
  }

  /** What the cell has to wait for: the decision about a solution that is run before it or that it has itself. */
  private _joinDecision(
    batch: IBatch,
    { cell, notebook }: Options
  ): Promise<boolean> | undefined {
    const { sharedModel } = cell.model;
    if (this._guard?.isSolution(sharedModel, notebook)) {
      batch.solutions.push(sharedModel);
      if (batch.solutions.length === 1) {
        this._startDecision(batch, notebook, this._guard);
      }
    }
    batch.waiting += batch.solutions.length > 0 ? 1 : 0;
    return this._decisions.get(notebook);
  }

  /** What the cell has to wait for: the preparation of the kernel for it, or for a cell that was run before it. */
  private _joinPreparation(options: Options): Promise<void> | undefined {
    const before = this._preparations.get(options.notebook);
    const mine = this._prepare?.(options);
    if (!mine) {
      return before;
    }
    const both = Promise.all([before, mine]).then(() => {
      if (this._preparations.get(options.notebook) === both) {
        this._preparations.delete(options.notebook);
      }
    });
    this._preparations.set(options.notebook, both);
    return both;
  }

  private _startDecision(
    batch: IBatch,
    notebook: INotebookModel,
    guard: ISolutionGuard
  ): void {
    const before = this._decisions.get(notebook);
    const decide = async () => {
      await batch.complete;
      return (
        (await before) !== false &&
        guard.mayRun(batch.solutions, notebook, batch.waiting > 1)
      );
    };
    const decision = decide().finally(() => {
      if (this._decisions.get(notebook) === decision) {
        this._decisions.delete(notebook);
      }
    });
    this._decisions.set(notebook, decision);
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
    const batch = {
      count: 0,
      notified: false,
      complete,
      solutions: [],
      waiting: 0,
      failed: false
    };
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
  /** The latest preparation of each notebook's kernel, until it is done. */
  private _preparations = new Map<INotebookModel, Promise<void>>();
  /** The latest decision about solutions in each notebook, until it is made. */
  private _decisions = new Map<INotebookModel, Promise<boolean>>();
}

/** Whether the user has marked the cell as one whose errors do not end "Run All". */
function mayFail(cell: ISharedCell): boolean {
  const tags = cell.getMetadata('tags');
  return Array.isArray(tags) && tags.includes('raises-exception');
}

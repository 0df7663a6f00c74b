/**
 * What the cells of a run show of its candidates: their code and outputs. What was seen last is kept when a cell is
 * removed, because a run that continues another one replaces its cells.
 */
import type {
  ISharedCell,
  ISharedCodeCell,
  ISharedNotebook
} from '@jupyter/ydoc';
import type { IOutput } from '@jupyterlab/nbformat';
import type { IDisposable } from '@lumino/disposable';

import { GUARD_PATTERN, markOf } from '../generatedCells/generatedCell';
import { filterOutputs } from '../generatedCells/outputFilter';

/** The code and the outputs of a candidate. */
export interface ICandidateContent {
  readonly code: string;
  readonly outputs: readonly IOutput[];
  /** The outputs as text, to compare them. */
  readonly shown: string;
}

export class CandidateContents implements IDisposable {
  constructor(
    private _notebook: ISharedNotebook,
    readonly runId: string
  ) {}

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    this._isDisposed = true;
    this._followed.forEach(cell => cell.changed.disconnect(this._onCell, this));
    this._followed.clear();
  }

  /** The contents of all candidates whose cells are or were in the notebook, by id. */
  read(): ReadonlyMap<string, ICandidateContent> {
    this._readCells('candidate');
    this._readCells('solution');
    return this._contents;
  }

  private _readCells(role: 'candidate' | 'solution'): void {
    for (const cell of this._notebook.cells) {
      const mark = markOf(cell, this.runId);
      if (mark?.role !== role || !mark.candidate || this._fresh.has(cell)) {
        continue;
      }
      this._follow(cell);
      // A stopped run joins the code of its subtasks under the name of the last candidate, which is not its code.
      const joined = role === 'solution' && mark.status === 'stopped';
      if (!joined || !this._contents.has(mark.candidate)) {
        this._keep(mark.candidate, contentOf(cell as ISharedCodeCell));
      }
    }
  }

  private _follow(cell: ISharedCell): void {
    this._fresh.add(cell);
    if (!this._followed.has(cell)) {
      this._followed.add(cell);
      cell.changed.connect(this._onCell, this);
      cell.disposed.connect(() => this._followed.delete(cell));
    }
  }

  private _onCell(cell: ISharedCell): void {
    this._fresh.delete(cell);
  }

  /** Keep the same object if nothing has changed. The cell of the final solution has no outputs until it is run. */
  private _keep(id: string, now: ICandidateContent): void {
    const before = this._contents.get(id);
    const content =
      before && now.outputs.length === 0 && before.code === now.code
        ? before
        : now;
    if (before?.code !== content.code || before.shown !== content.shown) {
      this._contents.set(id, content);
    }
  }

  private _contents = new Map<string, ICandidateContent>();
  /** The cells that have not changed since they were read. */
  private _fresh = new WeakSet<ISharedCell>();
  private _followed = new Set<ISharedCell>();
  private _isDisposed = false;
}

function contentOf(cell: ISharedCodeCell): ICandidateContent {
  const outputs = filterOutputs(cell.getOutputs());
  const code = cell.getSource().replace(GUARD_PATTERN, '');
  return { code, outputs, shown: JSON.stringify(outputs) };
}

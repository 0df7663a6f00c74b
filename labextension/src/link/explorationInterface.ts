/**
 * The interface between the live cells and the rest of the front end: one model for each notebook document, kept up to
 * date by its kernel. Controls of a run are methods of the model; they resolve when the kernel has accepted them.
 */
import type { NotebookPanel } from '@jupyterlab/notebook';
import { Token } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';

import type { Answer, Done, RunView, ToKernel, TraceView } from '../messages';

/**
 * State of the connection to the kernel.
 *
 * - `none`: there is no kernel, or it has not loaded the extension;
 * - `connecting`: `Hello` was sent but not yet answered;
 * - `waiting`: the kernel has no subshells and a cell is running, so controls are handled when it ends; the kernel may
 *   not have answered yet, or may not have loaded the extension;
 * - `ready`: controls are handled at once or, on a kernel without subshells, as long as no cell is running;
 * - `other-version`: the protocol versions of page and kernel differ; one of them must be updated.
 */
export type LinkStatus =
  'none' | 'connecting' | 'waiting' | 'ready' | 'other-version';

/** The controls of a run. */
export type Control =
  | 'stop'
  | 'explore'
  | 'skip'
  | 'retry'
  | 'choose'
  | 'edit'
  | 'plan'
  | 'export'
  | 'change';

/** The command that opens the comparison of candidates; its arguments are `run` and `subtask`. */
export const COMPARE = 'explora:compare';

/** The command that shows the form for a task that starts from the state after a solution; its argument is `run`. */
export const FOLLOW_UP = 'exploracoder:follow-up';

/** Result of an insertion: the cell was inserted, it was already there, or there is nothing to insert. */
export type InsertResult = 'inserted' | 'there' | 'nothing';

/** Identifies a cell of a run by the first field that is set, or the calling cell if none is. */
export interface IRunCell {
  candidate?: string;
  subtask?: string;
  solution?: boolean;
  plan?: boolean;
}

/** The explorations of one notebook. Runs are identified by their `key`. */
export interface INotebookExplorations extends IDisposable {
  /**
   * The kernel's runs, oldest first, except those whose calling cell is in another open notebook. The calling cell may
   * be in no notebook, if the saved notebook does not contain it; the run is controlled from here nevertheless.
   */
  readonly runs: readonly RunView[];
  /** Earlier explorations: those in the user's history, and the traces next to the notebook. */
  readonly traces: readonly TraceView[];
  readonly link: LinkStatus;
  /** Path of the notebook that the links to traces are relative to. Differs from its present path during a renaming. */
  readonly notebook: string;
  /** Whether the kernel has subshells, so that it handles controls while a cell is running. */
  readonly subshells: boolean;
  /** Whether the kernel is executing a cell. */
  readonly busy: boolean;
  /**
   * Emitted when any of the properties above, or the result of `isPending`, `isHere`, `hasCaller`, `hasCells`,
   * `hasSolution` or `isOwned`, may have changed.
   */
  readonly changed: ISignal<INotebookExplorations, void>;

  /** Whether the run's calling cell is in this notebook, or was at some time since the page was loaded. */
  isHere(run: string): boolean;
  /** Whether the run's calling cell is in this notebook now. */
  hasCaller(run: string): boolean;
  /** Whether cells of the run are in this notebook. */
  hasCells(run: string): boolean;
  /** Whether the cell with the run's solution is in this notebook, or another code cell with the same source. */
  hasSolution(run: string): boolean;
  /** Whether this page updates the run's cells. If not, another tab does. */
  isOwned(run: string): boolean;
  /** Whether this control was sent and is not yet answered. `of`: the subtask or candidate, if any. */
  isPending(run: string, control: Control, of?: string): boolean;

  /* The controls never throw. Errors are returned as one sentence in `problem`. */

  stop(run: string): Promise<Done>;
  /** Plan and explore now, instead of trying whole programs first. */
  explore(run: string): Promise<Done>;
  skip(run: string, subtask: string): Promise<Done>;
  /** After the end of the run, this executes the calling cell again to continue from there. */
  retry(run: string, subtask: string, hint?: string): Promise<Done>;
  /** After the end of the run, this executes the calling cell again to continue from there. */
  choose(run: string, candidate: string): Promise<Done>;
  /**
   * Run a candidate's code as the user edited it, as a candidate of its own. After the end of the run, this executes
   * the calling cell again to continue from there with the edited code.
   */
  edit(run: string, candidate: string, code: string): Promise<Done>;
  plan(run: string, titles: string[]): Promise<Done>;
  exportTrace(run: string): Promise<Done>;
  /** Write the run's patch into its repository, or undo that. */
  changeRepository(run: string, action: 'apply' | 'undo'): Promise<Done>;

  /** Send a request that refers to no run. Rejects with `NoAnswerError`. `timeout`: in milliseconds. */
  request(message: ToKernel, timeout?: number): Promise<Answer>;

  /** Scroll to the cell, make it active and optionally focus it. Returns whether it exists. */
  reveal(run: string, cell: IRunCell, focus?: boolean): boolean;
  /** Remove the cells of one run or of all, as one undo step. Returns the number of removed cells. */
  remove(run: string | 'all', options?: { keepSolution?: boolean }): number;
  /** Go to the solution. If it is not in the notebook yet, insert it below the active cell as an ordinary cell. */
  insertSolution(run: string): InsertResult;
}

/** The explorations of this application. */
export interface IExplorations {
  /** The model of the current notebook. */
  readonly current: INotebookExplorations | null;
  readonly currentChanged: ISignal<IExplorations, INotebookExplorations | null>;
  forPanel(panel: NotebookPanel): INotebookExplorations | undefined;
}

export const IExplorations = new Token<IExplorations>(
  'exploracoder-jupyter:IExplorations',
  'The explorations of the open notebooks: their runs and the controls for them.'
);

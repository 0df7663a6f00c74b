/**
 * What the rest of the front end knows of explorations: one model for each notebook document, kept up to date from its
 * kernel. Whatever steers a run is asked of the model, which answers when the kernel has taken it.
 */
import type { NotebookPanel } from '@jupyterlab/notebook';
import { Token } from '@lumino/coreutils';
import type { IDisposable } from '@lumino/disposable';
import type { ISignal } from '@lumino/signaling';

import type { Done, RunView, TraceView } from '../messages';

/**
 * How far the page can reach the kernel.
 *
 * - `none`: there is no kernel, or it has not loaded the extension;
 * - `connecting`: asked, not yet answered;
 * - `waiting`: the kernel has no subshells and a cell is running: controls are heard when that has ended; the kernel may
 *   not have answered yet, nor loaded the extension;
 * - `ready`: controls are heard at once, or, on a kernel without subshells, as long as no cell is running;
 * - `other-version`: page and kernel do not understand one another; one of them must be updated.
 */
export type LinkStatus =
  'none' | 'connecting' | 'waiting' | 'ready' | 'other-version';

/** What can be asked of a run. */
export type Control = 'stop' | 'skip' | 'retry' | 'choose' | 'plan' | 'export';

/** What became of an insertion: it was made, its cell was there before, or there is nothing to insert. */
export type InsertResult = 'inserted' | 'there' | 'nothing';

/** A cell of a run; the first field that is set decides, the calling cell if none is. */
export interface IRunCell {
  candidate?: string;
  subtask?: string;
  solution?: boolean;
  plan?: boolean;
}

/** The explorations of one notebook. Runs are named by their `key`. */
export interface IExplorationModel extends IDisposable {
  /**
   * The kernel's runs, oldest first, but for those whose calling cell is in another notebook that is open. A run may be
   * older than the notebook as it was saved: then its calling cell is nowhere, and it is steered here nevertheless.
   */
  readonly runs: readonly RunView[];
  /** What was explored before: in the user's history, and the traces beside the notebook. */
  readonly traces: readonly TraceView[];
  readonly link: LinkStatus;
  /** Whether the kernel has subshells, so that controls are heard while a cell is running. */
  readonly subshells: boolean;
  /** Whether the kernel is executing a cell. */
  readonly busy: boolean;
  /** Emitted when anything above, `isPending`, `isHere`, `hasCaller`, `hasCells` or `owned` may answer otherwise than before. */
  readonly changed: ISignal<IExplorationModel, void>;

  /** Whether the run's calling cell is in this notebook, or was since the page was loaded. */
  isHere(run: string): boolean;
  /** Whether the run's calling cell is in this notebook now. */
  hasCaller(run: string): boolean;
  /** Whether cells of the run are in this notebook. */
  hasCells(run: string): boolean;
  /** Whether this page changes the run's cells; if not, another tab does. */
  isOwned(run: string): boolean;
  /** Whether this was asked of the run and is not yet answered. `of`: the subtask or candidate, where there is one. */
  isPending(run: string, control: Control, of?: string): boolean;

  /* The controls never throw: what went wrong is one sentence in `problem`. */

  stop(run: string): Promise<Done>;
  skip(run: string, subtask: string): Promise<Done>;
  /** After the end of the run this executes the calling cell again, to go on from there. */
  retry(run: string, subtask: string, hint?: string): Promise<Done>;
  /** After the end of the run this executes the calling cell again, to go on from there. */
  choose(run: string, candidate: string): Promise<Done>;
  plan(run: string, titles: string[]): Promise<Done>;
  exportTrace(run: string): Promise<Done>;

  /** Scroll to the cell, make it the active one and give it the focus, if that is wanted; whether it is there. */
  reveal(run: string, cell: IRunCell, focus?: boolean): boolean;
  /** Remove the cells of a run, or of all; one step to undo. The number of cells that went away. */
  remove(run: string | 'all', options?: { keepSolution?: boolean }): number;
  /** Go to the solution: insert it as a cell of the user's own below the active one, unless it is there already. */
  insertSolution(run: string): InsertResult;
}

/** The explorations of this application. */
export interface IExplorations {
  /** The model of the current notebook. */
  readonly current: IExplorationModel | null;
  readonly currentChanged: ISignal<IExplorations, IExplorationModel | null>;
  forPanel(panel: NotebookPanel): IExplorationModel | undefined;
}

export const IExplorations = new Token<IExplorations>(
  'exploracoder-jupyter:IExplorations',
  'The explorations of the open notebooks: their runs and the controls for them.'
);

/** What the sidebar's forms need: the form that is shown, and the services behind them. */
import { Token } from '@lumino/coreutils';
import type { ISignal } from '@lumino/signaling';

import type { Answer, RunView, ToKernel } from '../messages';
import type { ITask } from './callingCellSource';
import type { ILibraryNames } from './librarySuggestions';

/** What the sidebar shows: the runs, or a form in their place. */
export type SidebarPage = 'runs' | 'new' | 'settings';

export interface IFormServices {
  readonly page: SidebarPage;
  /**
   * What the form for a new exploration begins with. Where no library was entered, those of the newest run in the
   * notebook.
   */
  readonly draft: ITask;
  /** Counts the calls of `show`. */
  readonly version: number;
  /** Emitted when any of the properties above has changed, or the failed cell was replaced. */
  readonly changed: ISignal<IFormServices, void>;
  /** Show a page; a draft replaces the present one. */
  show(page: SidebarPage, draft?: Partial<ITask>): void;
  /** Keep what was entered, in memory only. */
  keepDraft(draft: ITask): void;
  /** The libraries to complete. Never rejects. */
  libraryNames(): Promise<ILibraryNames>;
  /** Write the calling cell and run it. Returns whether there is a notebook for it. */
  explore(task: ITask): boolean;
  /** Load the extension into the current notebook's kernel, by a cell. */
  loadExtension(): void;
  /** Send a request that refers to no run. Rejects with `NoAnswerError`. */
  request(message: ToKernel, timeout?: number): Promise<Answer>;
  /** Show the form for a task that starts from the state after a solution. */
  followUp(run: RunView): void;
  /** The source of the failed cell that the run is to correct; `null` if there is none. */
  failedSource(run: RunView): string | null;
  /** Replace the source of that cell by the solution, clear its outputs and go to it, so that it can be run. */
  replaceFailed(run: RunView): void;
}

export const IFormServices = new Token<IFormServices>(
  'exploracoder-jupyter:IFormServices',
  'The forms that start explorations in the current notebook.'
);

/**
 * The services of the application that the sidebar uses: files, the current notebook, the clipboard.
 */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Clipboard } from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import { NotebookActions } from '@jupyterlab/notebook';
import type { INotebookTracker } from '@jupyterlab/notebook';
import { CommandRegistry } from '@lumino/commands';

import { COMPARE } from '../link/explorationInterface';
import type { IExplorations } from '../link/explorationInterface';
import type { IFormServices } from '../newExploration/formServicesToken';
import { insertExample } from './insertExample';
import { type IActiveCell, describeCell } from '../explorations/activeCell';

/** The application's services, apart from controls of runs. */
export interface IHostServices {
  /** Whether a notebook is open and current. */
  readonly hasNotebook: boolean;
  /** The notebook's active cell. */
  readonly activeCell: IActiveCell | null;
  /**
   * The keyboard shortcut that leads from the notebook to the sidebar, formatted for display; empty if there is none.
   */
  readonly shortcut: string;
  /** The forms of the sidebar. */
  readonly forms: IFormServices;
  /** Focus the notebook's active cell. */
  focusNotebook(): void;
  /** Open a file by its path relative to the notebook's folder. */
  open(link: string): void;
  insertExample(loaded: boolean): void;
  /** Open the comparison of a subtask's candidates. */
  compare(run: string, subtask: string): void;
  /** Copy text to the clipboard. */
  copy(text: string): void;
}

export const SHOW_SIDEBAR = 'exploracoder:show-sidebar';

export class HostServices implements IHostServices {
  constructor(
    private app: JupyterFrontEnd,
    private tracker: INotebookTracker,
    private explorations: Pick<IExplorations, 'current'>,
    readonly forms: IFormServices
  ) {}

  get hasNotebook(): boolean {
    return this.tracker.currentWidget !== null;
  }

  get activeCell(): IActiveCell | null {
    return describeCell(this.tracker.activeCell);
  }

  get shortcut(): string {
    const { keyBindings } = this.app.commands;
    const own = keyBindings.find(({ command }) => command === SHOW_SIDEBAR);
    return own ? CommandRegistry.formatKeystroke(own.keys) : '';
  }

  focusNotebook(): void {
    const panel = this.tracker.currentWidget;
    if (panel) {
      void NotebookActions.focusActiveCell(panel.content);
    }
  }

  open(link: string): void {
    const { current } = this.explorations;
    const notebook =
      current?.notebook ?? this.tracker.currentWidget?.context.path;
    if (notebook !== undefined) {
      const path = this.resolveLink(notebook, link);
      void this.app.commands.execute('docmanager:open', { path });
    }
  }

  insertExample(loaded: boolean): void {
    const panel = this.tracker.currentWidget;
    if (panel) {
      insertExample(panel.content, loaded);
    }
  }

  compare(run: string, subtask: string): void {
    void this.app.commands.execute(COMPARE, { run, subtask });
  }

  copy(text: string): void {
    Clipboard.copyToSystem(text);
  }

  /** Resolve a path relative to the notebook's folder, on the notebook's drive. */
  private resolveLink(notebook: string, link: string): string {
    const { contents } = this.app.serviceManager;
    const drive = contents.driveName(notebook);
    const folder = PathExt.dirname(contents.localPath(notebook));
    const path = PathExt.join(folder, link);
    return drive ? `${drive}:${path}` : path;
  }
}

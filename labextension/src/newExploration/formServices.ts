/** The services behind the sidebar's forms, in an application. */
import type { ISharedCell, ISharedCodeCell } from '@jupyter/ydoc';
import type { INotebookTracker } from '@jupyterlab/notebook';
import type { JSONObject } from '@lumino/coreutils';
import { ISignal, Signal } from '@lumino/signaling';

import { NoAnswerError } from '../link/kernelLink';
import type { IExplorations } from '../link/explorationInterface';
import { asOneUndoStep } from '../generatedCells/cellRemoval';
import { NAMESPACE } from '../generatedCells/generatedCell';
import { showCell } from '../generatedCells/notebookActions';
import type { Answer, RunView, ToKernel } from '../messages';
import { callingCell, EMPTY_TASK, ITask } from './callingCellSource';
import type { SidebarPage, IFormServices } from './formServicesToken';
import { failedCellId } from './failedCell';
import { librariesOf, setupAfter } from './followUp';
import { insertCall, loadInto } from './insertCall';
import {
  ILibraryNames,
  importableModules,
  importedBy
} from './librarySuggestions';

export class FormServices implements IFormServices {
  constructor(
    private _tracker: INotebookTracker,
    private _explorations: IExplorations
  ) {}

  get page(): SidebarPage {
    return this._page;
  }

  get draft(): ITask {
    const { libraries } = this._draft;
    return { ...this._draft, libraries: libraries || this._latestLibraries() };
  }

  get version(): number {
    return this._version;
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  show(page: SidebarPage, draft?: Partial<ITask>): void {
    this._page = page;
    if (draft) {
      this._draft = { ...EMPTY_TASK, ...draft };
    }
    this._version += 1;
    this._changed.emit();
  }

  keepDraft(draft: ITask): void {
    this._draft = draft;
  }

  async libraryNames(): Promise<ILibraryNames> {
    const imported = importedBy(this.notebookCode());
    const known = await this._namesInKernel().catch(() => null);
    return {
      imported: [...new Set([...imported, ...(known?.imported ?? [])])],
      installed: known?.installed ?? []
    };
  }

  explore(task: ITask): boolean {
    const panel = this._tracker.currentWidget;
    if (!panel) {
      return false;
    }
    const loaded = this._explorations.current?.link === 'ready';
    const ours: JSONObject = task.fixes
      ? { [NAMESPACE]: { fixes: task.fixes } }
      : {};
    insertCall(panel, callingCell(task), loaded, ours);
    this.show('runs', EMPTY_TASK);
    return true;
  }

  loadExtension(): void {
    const panel = this._tracker.currentWidget;
    if (panel) {
      loadInto(panel);
    }
  }

  async request(message: ToKernel, timeout?: number): Promise<Answer> {
    const model = this._explorations.current;
    if (!model) {
      throw new NoAnswerError('none');
    }
    return model.request(message, timeout);
  }

  followUp(run: RunView): void {
    this.show('new', {
      libraries: librariesOf(run),
      setup: setupAfter(run)
    });
  }

  failedSource(run: RunView): string | null {
    return this._failedCell(run)?.getSource() ?? null;
  }

  replaceFailed(run: RunView): void {
    const panel = this._tracker.currentWidget;
    const failed = this._failedCell(run);
    if (!panel || !failed?.notebook || run.code === null) {
      return;
    }
    const { code } = run;
    asOneUndoStep(failed.notebook, () => {
      failed.setSource(code);
      if (failed.cell_type === 'code') {
        const codeCell = failed as ISharedCodeCell;
        codeCell.setOutputs([]);
        codeCell.execution_count = null;
      }
    });
    showCell(panel, failed.getId(), true);
    this._changed.emit();
  }

  /** The code of the current notebook's code cells. */
  notebookCode(): string {
    const code = this._cells.filter(cell => cell.cell_type === 'code');
    return code.map(cell => cell.getSource()).join('\n');
  }

  private _failedCell(run: RunView): ISharedCell | undefined {
    const find = (id?: string | null) =>
      this._cells.find(cell => cell.getId() === id);
    const caller = find(run.cell);
    return caller && find(failedCellId(caller));
  }

  /** The libraries of the newest run in the current notebook; empty if there is none. */
  private _latestLibraries(): string {
    const model = this._explorations.current;
    const run = model?.runs.filter(({ key }) => model.isHere(key)).at(-1);
    return run ? librariesOf(run) : '';
  }

  private get _cells(): readonly ISharedCell[] {
    return this._tracker.currentWidget?.model?.sharedModel.cells ?? [];
  }

  private async _namesInKernel(): Promise<ILibraryNames | null> {
    const model = this._explorations.current;
    if (model?.link === 'ready') {
      const answer = await model.request({ type: 'list_libraries' });
      return answer.type === 'library_names' ? answer : null;
    }
    const session = this._tracker.currentWidget?.sessionContext.session;
    const kernel = session?.kernel;
    const installed = kernel ? await importableModules(kernel) : [];
    return { imported: [], installed };
  }

  private _page: SidebarPage = 'runs';
  private _draft = EMPTY_TASK;
  private _version = 0;
  private _changed = new Signal<this, void>(this);
}

/** The services behind the sidebar's forms, in an application. */
import type { INotebookTracker } from '@jupyterlab/notebook';
import { ISignal, Signal } from '@lumino/signaling';

import type { IExplorations } from '../link/tokens';
import { callingCell, EMPTY_TASK, ITask } from './callingCell';
import type { EntryPage, IEntry } from './entryTokens';
import { insertCall } from './insertCall';
import { ILibraryNames, importableModules, importedBy } from './libraryNames';

export class Entry implements IEntry {
  constructor(
    private _tracker: INotebookTracker,
    private _explorations: IExplorations
  ) {}

  get page(): EntryPage {
    return this._page;
  }

  get draft(): ITask {
    return this._draft;
  }

  get version(): number {
    return this._version;
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  show(page: EntryPage, draft?: Partial<ITask>): void {
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
    const imported = this._importedInNotebook();
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
    insertCall(panel, callingCell(task), loaded);
    this.show('runs', EMPTY_TASK);
    return true;
  }

  private _importedInNotebook(): string[] {
    const cells = this._tracker.currentWidget?.model?.sharedModel.cells ?? [];
    const code = cells.filter(cell => cell.cell_type === 'code');
    return importedBy(code.map(cell => cell.getSource()).join('\n'));
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

  private _page: EntryPage = 'runs';
  private _draft = EMPTY_TASK;
  private _version = 0;
  private _changed = new Signal<this, void>(this);
}

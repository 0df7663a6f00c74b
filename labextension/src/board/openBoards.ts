/** Opens boards: one for each subtask of a run. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { MainAreaWidget } from '@jupyterlab/apputils';
import type { IEditorServices } from '@jupyterlab/codeeditor';
import type { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';

import type { INotebookExplorations } from '../link/explorationInterface';
import { confirmChoice } from '../shared/sharedWording';
import type { RunView, SubtaskView } from '../messages';
import { explorationIcon } from '../shared/icons';
import { BoardWidget } from './boardWidget';

const MIME_TYPE = 'text/x-ipython';

/** What is compared, and where. */
export interface IBoardTarget {
  panel: NotebookPanel;
  model: INotebookExplorations;
  run: RunView;
  subtask: SubtaskView;
}

export class OpenBoards {
  /** @param _hasMainArea - whether the application shows several widgets side by side; if not, boards are below */
  constructor(
    private _shell: JupyterFrontEnd.IShell,
    private _hasMainArea: boolean,
    private _editors: IEditorServices,
    private _languages: IEditorLanguageRegistry | null,
    private _trans: TranslationBundle
  ) {}

  /** Show the board and focus it. */
  open(target: IBoardTarget): void {
    const { run, subtask, panel } = target;
    const id = `exploracoder-board-${run.key}-${subtask.id}`;
    const board = this._open.get(id) ?? this._add(id, target, panel);
    this._shell.activateById(id);
    requestAnimationFrame(() => board.content.focus());
  }

  private _add(
    id: string,
    target: IBoardTarget,
    panel: NotebookPanel
  ): MainAreaWidget<BoardWidget> {
    const board = new MainAreaWidget({ content: this._createContent(target) });
    board.id = id;
    // The main area gives its content a general label.
    board.content.node.setAttribute(
      'aria-label',
      this._trans.__('Comparison of candidates')
    );
    board.title.label = this._title(target);
    board.title.caption = target.subtask.title;
    board.title.icon = explorationIcon;
    board.title.closable = true;
    const earlier = [...this._open.values()].at(-1);
    this._open.set(id, board);
    board.disposed.connect(() => this._open.delete(id));
    if (this._hasMainArea) {
      this._shell.add(board, 'main', {
        mode: earlier ? 'tab-after' : 'split-right',
        ref: (earlier ?? panel).id
      });
    } else {
      board.content.addClass('jp-mod-below');
      this._shell.add(board, 'down');
    }
    return board;
  }

  private _createContent(target: IBoardTarget): BoardWidget {
    const { model, panel, run, subtask } = target;
    const trans = this._trans;
    return new BoardWidget({
      model,
      panel,
      run: run.key,
      subtask: subtask.id,
      trans,
      services: {
        highlight: (code, element) => this._highlight(code, element),
        rendermime: panel.content.rendermime,
        editorFactory: this._editors.factoryService.newInlineEditor,
        mimeType: MIME_TYPE,
        confirmChoice: candidate => confirmChoice(candidate, trans)
      }
    });
  }

  private async _highlight(code: string, element: HTMLElement): Promise<void> {
    const language = this._languages?.findByMIME(MIME_TYPE) ?? null;
    if (this._languages) {
      await this._languages.highlight(code, language, element);
    } else {
      element.textContent = code;
    }
  }

  private _title({ run, subtask }: IBoardTarget): string {
    return subtask === run.solution
      ? this._trans.__('Compare solutions')
      : this._trans.__('Compare candidates of %1', subtask.id);
  }

  private _open = new Map<string, MainAreaWidget<BoardWidget>>();
}

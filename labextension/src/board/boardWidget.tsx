/** A board as a widget: it follows the run and its cells. */
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import { ReactWidget } from '@jupyterlab/ui-components';
import { Throttler } from '@lumino/polling';
import * as React from 'react';

import type { INotebookExplorations } from '../link/explorationInterface';
import { TranslationContext } from '../shared/translation';
import type { Drafts } from './Board';
import { Board } from './Board';
import type { IBoardServices } from './boardContext';
import { BoardServicesProvider } from './boardContext';
import { CandidateContents } from './candidateContents';

/** Minimum time between two renderings, in milliseconds. */
const MIN_INTERVAL = 150;

export interface IBoardOptions {
  model: INotebookExplorations;
  panel: NotebookPanel;
  run: string;
  subtask: string;
  services: IBoardServices;
  trans: TranslationBundle;
}

export class BoardWidget extends ReactWidget {
  constructor(private _options: IBoardOptions) {
    super();
    const { model, panel } = _options;
    this.addClass('jp-Explora-boardWidget');
    // Keys typed here do not trigger the application's shortcuts.
    this.node.setAttribute('data-lm-suppress-shortcuts', 'true');
    model.changed.connect(this._onChange, this);
    panel.context.model.contentChanged.connect(this._onChange, this);
    panel.context.disposed.connect(this._onClosed, this);
  }

  dispose(): void {
    if (this.isDisposed) {
      return;
    }
    const { model, panel } = this._options;
    model.changed.disconnect(this._onChange, this);
    panel.context.disposed.disconnect(this._onClosed, this);
    panel.context.model?.contentChanged.disconnect(this._onChange, this);
    this._throttler.dispose();
    this._cells.forEach(cells => cells.dispose());
    super.dispose();
  }

  /** Focus the column that had the focus last, or the first one, as soon as it is rendered. */
  focus(): void {
    const column = this.node.querySelector<HTMLElement>(
      'article[tabindex="0"]'
    );
    this._isFocusPending = column === null;
    column?.focus();
  }

  protected render(): React.JSX.Element {
    const { model, run, subtask, services, trans } = this._options;
    return (
      <TranslationContext.Provider value={trans}>
        <BoardServicesProvider value={services}>
          <Board
            {...{ model, run, subtask }}
            contentsOf={runId => this._cellsOf(runId).read()}
            drafts={this._drafts}
          />
          <AfterRender then={this._onRendered} />
        </BoardServicesProvider>
      </TranslationContext.Provider>
    );
  }

  private _cellsOf(runId: string): CandidateContents {
    const { sharedModel } = this._options.panel.context.model;
    const known = this._cells.get(runId);
    const cells = known ?? new CandidateContents(sharedModel, runId);
    this._cells.set(runId, cells);
    return cells;
  }

  private _onRendered = (): void => {
    if (this._isFocusPending) {
      this.focus();
    }
  };

  private _onChange(): void {
    void this._throttler.invoke();
  }

  /** The notebook was closed. */
  private _onClosed(): void {
    (this.parent ?? this).dispose();
  }

  private _throttler = new Throttler(() => this.update(), MIN_INTERVAL);
  private _cells = new Map<string, CandidateContents>();
  private _drafts: Drafts = new Map();
  private _isFocusPending = false;
}

/** Calls a function each time that it was rendered, along with its siblings. */
function AfterRender({ then }: { then: () => void }): null {
  React.useEffect(then);
  return null;
}

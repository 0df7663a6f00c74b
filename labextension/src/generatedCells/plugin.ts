/** The plugins that show a run's cells in the open notebook and guard recorded ones. */
import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import type { Cell } from '@jupyterlab/cells';
import {
  INotebookCellExecutor,
  INotebookTracker,
  NotebookPanel
} from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { CardActions } from '../card/cardActions';
import { CardButtonPlacement } from '../card/cardButtonPlacement';
import { claimPageId } from '../link/pageId';
import { COMPARE, IExplorations } from '../link/explorationInterface';
import { NotebookBadges } from './cellBadge';
import type { BadgeAction } from './badgeContent';
import { CallingCellDisplay } from './callingCellDisplay';
import {
  chooseWithConfirmation,
  Commands
} from '../explorations/explorationCommands';
import { ExplorationCellExecutor } from './cellExecutor';
import { EndNotices } from '../explorations/endNotices';
import { ExplorationRegistry } from '../explorations/explorationRegistry';
import { makeRunnable, markOf } from './generatedCell';
import { asOneUndoStep } from './cellRemoval';
import { showCell } from './notebookActions';
import type { RunView } from '../messages';

const DOMAIN = 'exploracoder_jupyter';

const explorations: JupyterFrontEndPlugin<IExplorations> = {
  id: 'exploracoder-jupyter:cells',
  description: 'Shows the cells of explorations in the open notebook.',
  autoStart: true,
  requires: [INotebookTracker],
  optional: [ITranslator, ICommandPalette],
  provides: IExplorations,
  activate: (
    app: JupyterFrontEnd,
    tracker: INotebookTracker,
    translator: ITranslator | null,
    palette: ICommandPalette | null
  ): IExplorations => {
    const trans = (translator ?? nullTranslator).load(DOMAIN);
    const found = new ExplorationRegistry(tracker, claimPageId(), trans);
    const commands = new Commands(app, found, trans);
    commands.addToContextMenu();
    if (palette) {
      commands.addToPalette(palette);
    }
    const cardActions = new CardActions(app, trans);
    const decorate = (panel: NotebookPanel) => {
      const model = found.forPanel(panel)!;
      const act = (action: BadgeAction, cell: Cell) => {
        const runId = markOf(cell.model)?.run_id;
        const run = model.runs.find(view => view.run_id === runId);
        if (action === 'make-mine') {
          const { sharedModel } = cell.model;
          asOneUndoStep(panel.context.model.sharedModel, () =>
            makeRunnable(sharedModel)
          );
        } else if (run) {
          const candidate = markOf(cell.model)?.candidate ?? '';
          void chooseWithConfirmation(model, run, candidate, trans);
        }
      };
      const badges = new NotebookBadges(panel, model, act, trans);
      const bars = new CardButtonPlacement(
        panel,
        model,
        run => app.commands.isEnabled(COMPARE, { run }),
        (button, subject, cell) =>
          cardActions.act(button, subject, cell, model),
        trans
      );
      const show = ({ cell }: RunView) => {
        app.shell.activateById(panel.id);
        showCell(panel, cell ?? '', true);
      };
      const notices = new EndNotices(panel, model, show, trans);
      const text = new CallingCellDisplay(panel.content);
      panel.disposed.connect(() => {
        text.dispose();
        notices.dispose();
        badges.dispose();
        bars.dispose();
      });
    };
    tracker.forEach(decorate);
    found.panelAdded.connect((_, panel) => decorate(panel));
    return found;
  }
};

/**
 * Replaces `@jupyterlab/notebook-extension:cell-executor`: of two plugins that provide a token, the one registered last
 * is used, and extensions are registered after the core. The core plugin is not disabled, so that cells still run if
 * this extension cannot be loaded.
 */
const executor: JupyterFrontEndPlugin<INotebookCellExecutor> = {
  id: 'exploracoder-jupyter:executor',
  description:
    'Runs notebook cells, except recorded candidates, whose outputs are kept.',
  autoStart: true,
  optional: [ITranslator],
  provides: INotebookCellExecutor,
  activate: (
    _: JupyterFrontEnd,
    translator: ITranslator | null
  ): INotebookCellExecutor =>
    new ExplorationCellExecutor((translator ?? nullTranslator).load(DOMAIN))
};

export const plugins: JupyterFrontEndPlugin<unknown>[] = [
  explorations,
  executor
];

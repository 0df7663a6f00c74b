/** What the buttons below a result card do. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import type { CodeCell } from '@jupyterlab/cells';
import type { TranslationBundle } from '@jupyterlab/translation';

import { COMPARE, FOLLOW_UP } from '../link/explorationInterface';
import { CommandIDs, reportProblem } from '../explorations/explorationCommands';
import type { NotebookExplorations } from '../explorations/notebookExplorations';
import { showCell } from '../generatedCells/notebookActions';
import { insertedMessage, notify } from '../shared/sharedWording';
import type { Done, RunView } from '../messages';
import type { CardAction, ICardSubject } from './cardButtons';

const RUN_CELL = 'notebook:run-cell';

export class CardActions {
  constructor(
    private _app: JupyterFrontEnd,
    private _trans: TranslationBundle
  ) {}

  /** Do what a button of a card says. */
  act(
    action: CardAction,
    subject: ICardSubject,
    cell: CodeCell,
    model: NotebookExplorations
  ): void {
    const { run, runId } = subject;
    switch (action) {
      case 'go':
        this._goToSolution(subject, cell, model);
        break;
      case 'run':
        this._goToSolution(subject, cell, model, { quiet: true });
        void this._app.commands.execute(RUN_CELL);
        break;
      case 'follow':
        if (run) {
          void this._app.commands.execute(FOLLOW_UP, { run: run.key });
        }
        break;
      case 'compare':
        void this._app.commands.execute(COMPARE, { run: runId });
        break;
      case 'remove':
        void this._app.commands.execute(CommandIDs.remove, { run: runId });
        break;
      case 'begin':
      case 'stop':
      case 'apply':
      case 'undo':
      case 'export':
        if (run) {
          void this._control(action, run, model);
        }
    }
  }

  private async _control(
    action: 'begin' | 'stop' | 'apply' | 'undo' | 'export',
    run: RunView,
    model: NotebookExplorations
  ): Promise<void> {
    switch (action) {
      case 'begin': {
        const titles = run.subtasks.map(({ title }) => title);
        return reportProblem(model.plan(run.key, titles));
      }
      case 'stop':
        return reportProblem(model.stop(run.key));
      case 'apply':
      case 'undo':
        return this._report(model.changeRepository(run.key, action));
      case 'export':
        return this._report(model.exportTrace(run.key));
    }
  }

  private async _report(done: Promise<Done>): Promise<void> {
    const { problem, said, link } = await done;
    if (problem) {
      Notification.warning(problem, { autoClose: 6_000 });
    } else {
      notify(said || this._trans.__('Exported to %1.', link));
    }
  }

  /** Go to the solution; insert it below the calling cell if it is not there. */
  private _goToSolution(
    { run, solution }: ICardSubject,
    cell: CodeCell,
    model: NotebookExplorations,
    { quiet = false } = {}
  ): void {
    if (solution && showCell(model.panel, solution, true)) {
      return;
    }
    if (run) {
      model.panel.content.activeCellIndex =
        model.panel.content.widgets.indexOf(cell);
      const how = model.insertSolution(run.key);
      if (how !== 'nothing' && !quiet) {
        notify(insertedMessage(how, run.status === 'stopped', this._trans));
      }
    }
  }
}

/** What is shown in and about a notebook beside its cells: badges, the card's buttons, the task's text, end notices. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { Cell } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';

import type { CardActions } from '../card/cardActions';
import { CardButtonPlacement } from '../card/cardButtonPlacement';
import { EndNotices } from '../explorations/endNotices';
import { chooseWithConfirmation } from '../explorations/explorationCommands';
import type { NotebookExplorations } from '../explorations/notebookExplorations';
import { COMPARE } from '../link/explorationInterface';
import type { BadgeAction } from './badgeContent';
import { CallingCellDisplay } from './callingCellDisplay';
import { NotebookBadges } from './cellBadge';
import { asOneUndoStep } from './cellRemoval';
import { makeRunnable, markOf } from './generatedCell';

/** Decorate a notebook until it is closed. */
export function decorateNotebook(
  app: JupyterFrontEnd,
  panel: NotebookPanel,
  model: NotebookExplorations,
  cardActions: CardActions,
  trans: TranslationBundle
): void {
  const onBadge = (action: BadgeAction, cell: Cell) =>
    actOnBadge(action, cell, panel, model, trans);
  const badges = new NotebookBadges(panel, model, onBadge, trans);
  const buttons = new CardButtonPlacement(
    panel,
    model,
    run => app.commands.isEnabled(COMPARE, { run }),
    (button, subject, cell) => cardActions.act(button, subject, cell, model),
    trans
  );
  const notices = new EndNotices(panel, model, app.shell, trans);
  const text = new CallingCellDisplay(panel.content);
  panel.disposed.connect(() => {
    text.dispose();
    notices.dispose();
    badges.dispose();
    buttons.dispose();
  });
}

function actOnBadge(
  action: BadgeAction,
  cell: Cell,
  panel: NotebookPanel,
  model: NotebookExplorations,
  trans: TranslationBundle
): void {
  const mark = markOf(cell.model);
  const run = model.runs.find(view => view.run_id === mark?.run_id);
  if (action === 'make-mine') {
    const { sharedModel } = cell.model;
    asOneUndoStep(panel.context.model.sharedModel, () =>
      makeRunnable(sharedModel)
    );
  } else if (run) {
    void chooseWithConfirmation(model, run, mark?.candidate ?? '', trans);
  }
}

/** The buttons below the result card of a run. */
import type { TranslationBundle } from '@jupyterlab/translation';

import { isFinished } from '../link/runStatus';
import type { INotebookExplorations } from '../link/explorationInterface';
import type { IActionButton } from '../generatedCells/domElements';
import { insertLabel } from '../shared/sharedWording';
import type { RunView } from '../messages';
import { acceptsControls } from '../link/controlAvailability';

export type CardAction =
  | 'begin'
  | 'stop'
  | 'go'
  | 'run'
  | 'follow'
  | 'apply'
  | 'undo'
  | 'compare'
  | 'export'
  | 'remove';

/** What a card is about: a run, if the kernel knows it, and its cells in the notebook. */
export interface ICardSubject {
  /** The engine's id of the run. */
  runId: string;
  run?: RunView;
  hasCells: boolean;
  /** Id of the solution's cell. */
  solution?: string;
}

type IControlState = Pick<INotebookExplorations, 'isPending' | 'link'>;
type Button = IActionButton<CardAction>;

/** The buttons that can be used now. `comparable`: whether the candidates of a run can be compared. */
export function cardButtons(
  subject: ICardSubject,
  model: IControlState,
  comparable: (runId: string) => boolean,
  trans: TranslationBundle
): Button[] {
  const { run } = subject;
  if (run && !isFinished(run)) {
    return acceptsControls(model) ? controlButtons(run, model, trans) : [];
  }
  const first: Button[] = run?.patch
    ? acceptsControls(model)
      ? [patchButton(run, model, trans)]
      : []
    : solutionButtons(subject, trans);
  const compare = run && comparable(run.run_id) ? [compareButton(trans)] : [];
  const rest: Button[] = [
    ...(run?.trace && acceptsControls(model)
      ? [exportButton(run, model, trans)]
      : []),
    ...(subject.hasCells ? [removeButton(trans)] : [])
  ];
  // Without a solution, to look at what was tried comes first.
  return first.length
    ? [...first, ...inMenu([...compare, ...rest])]
    : [...compare, ...inMenu(rest)];
}

function inMenu(buttons: Button[]): Button[] {
  return buttons.map(button => ({ ...button, rank: 'menu' }));
}

function controlButtons(
  run: RunView,
  model: IControlState,
  trans: TranslationBundle
): Button[] {
  const stopping =
    run.status === 'stopping' || model.isPending(run.key, 'stop');
  const beginning = model.isPending(run.key, 'plan');
  const begin: Button = {
    action: 'begin',
    label: beginning ? trans.__('Beginning…') : trans.__('Begin'),
    caption: trans.__('Begin with this plan; it can be changed in the sidebar'),
    disabled: beginning,
    rank: 'primary'
  };
  const stop: Button = {
    action: 'stop',
    label: stopping ? trans.__('Stopping…') : trans.__('Stop'),
    caption: trans.__('Stop the exploration and keep the results so far'),
    disabled: stopping
  };
  return run.status === 'reviewing' ? [begin, stop] : [stop];
}

function solutionButtons(
  { run, solution }: ICardSubject,
  trans: TranslationBundle
): Button[] {
  if (!solution && !run?.code) {
    return [];
  }
  const stopped = run?.status === 'stopped';
  const go: Button = {
    action: 'go',
    label: solution ? trans.__('Go to solution') : insertLabel(stopped, trans),
    caption: solution
      ? trans.__('Go to the cell with the solution')
      : trans.__('Insert the solution as a cell below this one'),
    disabled: false,
    ...(solution ? { rank: 'menu' as const } : {})
  };
  const here: Button = {
    action: 'run',
    label: trans.__('Run here'),
    caption: trans.__("Run the solution in this notebook's kernel"),
    disabled: false,
    rank: 'primary'
  };
  const follow: Button = {
    action: 'follow',
    label: trans.__('Follow up…'),
    caption: trans.__('Explore another task from the state after the solution'),
    disabled: false
  };
  return [here, ...(run?.code ? [follow] : []), go];
}

function patchButton(
  run: RunView,
  model: IControlState,
  trans: TranslationBundle
): Button {
  const pending = model.isPending(run.key, 'change');
  return {
    ...(run.patch === 'applied'
      ? undoText(pending, trans)
      : applyText(pending, trans)),
    disabled: pending,
    ...(run.patch === 'applied' ? {} : { rank: 'primary' as const })
  };
}

function applyText(pending: boolean, trans: TranslationBundle) {
  return {
    action: 'apply' as const,
    label: pending ? trans.__('Applying…') : trans.__('Apply patch'),
    caption: trans.__(
      'Write the change into the repository, if its files are as they were'
    )
  };
}

function undoText(pending: boolean, trans: TranslationBundle) {
  return {
    action: 'undo' as const,
    label: pending ? trans.__('Undoing…') : trans.__('Undo patch'),
    caption: trans.__(
      'Take the change back, if the files are as the patch left them'
    )
  };
}

function compareButton(trans: TranslationBundle): Button {
  return {
    action: 'compare',
    label: trans.__('Compare'),
    caption: trans.__('Compare what was tried, side by side'),
    disabled: false
  };
}

function exportButton(
  run: RunView,
  model: IControlState,
  trans: TranslationBundle
): Button {
  const pending = model.isPending(run.key, 'export');
  return {
    action: 'export',
    label: pending ? trans.__('Exporting…') : trans.__('Export'),
    caption: trans.__(
      'Write a notebook without the candidates that were not selected'
    ),
    disabled: pending
  };
}

function removeButton(trans: TranslationBundle): Button {
  return {
    action: 'remove',
    label: trans.__('Remove'),
    caption: trans.__(
      'Remove the cells of this exploration; undo brings them back'
    ),
    disabled: false
  };
}

/** Messages and dialogs that are used in more than one place. */
import { Dialog, Notification, showDialog } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';

export function keepSolutionLabel(trans: TranslationBundle): string {
  return trans.__('Keep the solution');
}

/** How many cells were removed, and how to restore them. */
export function removedMessage(
  count: number,
  stopped: boolean,
  trans: TranslationBundle
): string {
  const removed = stopped
    ? trans._n(
        'Removed one cell and stopped the run.',
        'Removed %1 cells and stopped the run.',
        count
      )
    : trans._n('Removed one cell.', 'Removed %1 cells.', count);
  const undo = trans._n(
    'To restore it, press Z in command mode.',
    'To restore them, press Z in command mode.',
    count
  );
  return `${removed} ${undo}`;
}

/** What happens when the user continues from an ended run. */
export function replacementWarning(trans: TranslationBundle): string {
  return trans.__(
    'The cell is explored again from there. The new run replaces the cells of this one, including the solution. Undo in the notebook restores them, and the trace of this run is kept.'
  );
}

/** Ask the user before a run with a solution is removed. Returns whether to keep the solution, or `null` to cancel. */
export async function confirmRemoval(
  trans: TranslationBundle
): Promise<boolean | null> {
  const { button, isChecked } = await showDialog({
    title: trans.__('Remove exploration'),
    body: trans.__(
      'The cells of this exploration will be removed from the notebook.'
    ),
    checkbox: { label: keepSolutionLabel(trans), checked: true },
    buttons: [
      Dialog.cancelButton({ label: trans.__('Cancel') }),
      Dialog.okButton({ label: trans.__('Remove') })
    ]
  });
  return button.accept ? (isChecked ?? true) : null;
}

/** Ask the user before an ended run is continued with another candidate. */
export async function confirmChoice(
  candidate: string,
  trans: TranslationBundle
): Promise<boolean> {
  const { button } = await showDialog({
    title: trans.__('Use candidate %1 instead?', candidate),
    body: replacementWarning(trans),
    buttons: [
      Dialog.cancelButton({ label: trans.__('Cancel') }),
      Dialog.okButton({ label: trans.__('Explore again') })
    ]
  });
  return button.accept;
}

/** Where the solution was inserted. `stopped`: whether it is the combined code of a stopped run. */
export function insertedMessage(
  how: 'inserted' | 'there',
  stopped: boolean,
  trans: TranslationBundle
): string {
  if (how === 'there') {
    return trans.__(
      'The solution is already in the notebook, in the selected cell.'
    );
  }
  return stopped
    ? trans.__(
        'The code that ran is in the new, selected cell. It has not been run as a whole.'
      )
    : trans.__('The solution is in the new, selected cell.');
}

/** The label of the button that goes to the solution. `stopped`: whether it is the combined code of a stopped run. */
export function goLabel(stopped: boolean, trans: TranslationBundle): string {
  return stopped ? trans.__('Go to code that ran') : trans.__('Go to solution');
}

/** The label of the button that inserts the solution. */
export function insertLabel(
  stopped: boolean,
  trans: TranslationBundle
): string {
  return stopped
    ? trans.__('Insert code that ran')
    : trans.__('Insert solution');
}

export function notify(message: string): void {
  Notification.info(message, { autoClose: 5_000 });
}

/** The line of buttons below the result card in the output of a calling cell. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import {
  appendButton,
  focusedAction,
  type IActionButton
} from '../generatedCells/domElements';
import type { CardAction } from './cardButtons';

export class CardButtonRow extends Widget {
  constructor(
    private _onAction: (action: CardAction) => void,
    trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-Explora-card-buttons');
    this.node.setAttribute('role', 'group');
    this.node.setAttribute('aria-label', trans.__('Actions for this result'));
    // Keys typed here do not trigger notebook shortcuts.
    this.node.setAttribute('data-lm-suppress-shortcuts', 'true');
    this.hide();
  }

  /** Show these buttons, and hide the line if there are none. */
  setButtons(buttons: readonly IActionButton<CardAction>[]): void {
    const now = JSON.stringify(buttons);
    if (now !== this._rendered) {
      this._rendered = now;
      this.setHidden(buttons.length === 0);
      this._render(buttons);
    }
  }

  private _render(buttons: readonly IActionButton<CardAction>[]): void {
    const focused = focusedAction(this.node);
    this.node.replaceChildren();
    const made = buttons.map(button =>
      appendButton(this.node, button, this._onAction)
    );
    if (focused) {
      const same = made.find(button => button.dataset.action === focused);
      (same ?? made[0])?.focus();
    }
  }

  private _rendered = '';
}

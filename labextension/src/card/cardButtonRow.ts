/** The line of buttons below the result card in the output of a calling cell; the less usual ones are in a menu. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { Menu, Widget } from '@lumino/widgets';

import {
  appendButton,
  focusedAction,
  type IActionButton
} from '../generatedCells/domElements';
import type { RunView } from '../messages';
import type { CardAction } from './cardButtons';
import { Pulse } from './pulse';

const MORE = 'more';

export class CardButtonRow extends Widget {
  constructor(
    private _onAction: (action: CardAction) => void,
    private _trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-Explora-card-buttons');
    this.node.setAttribute('role', 'group');
    this.node.setAttribute('aria-label', _trans.__('Actions for this result'));
    // Keys typed here do not trigger notebook shortcuts.
    this.node.setAttribute('data-lm-suppress-shortcuts', 'true');
    this.hide();
    this._pulse = new Pulse(_trans);
  }

  dispose(): void {
    this._menu?.dispose();
    this._pulse.dispose();
    super.dispose();
  }

  /** Show these buttons, and where the run is while it is active; hide the line if there is nothing to show. */
  setButtons(
    buttons: readonly IActionButton<CardAction>[],
    run: RunView | null = null
  ): void {
    this._pulse.show(buttons.length ? run : null);
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
    const made = buttons
      .filter(({ rank }) => rank !== 'menu')
      .map(button => appendButton(this.node, button, this._onAction));
    const rest = buttons.filter(({ rank }) => rank === 'menu');
    if (rest.length) {
      made.push(this._appendMenuButton(rest));
    }
    this.node.append(this._pulse.node);
    if (focused) {
      const same = made.find(button => button.dataset.action === focused);
      (same ?? made[0])?.focus();
    }
  }

  private _appendMenuButton(
    buttons: readonly IActionButton<CardAction>[]
  ): HTMLButtonElement {
    const more: IActionButton = {
      action: MORE,
      label: this._trans.__('More'),
      caption: this._trans.__('More actions for this result'),
      disabled: false
    };
    const node = appendButton(this.node, more, () => {
      const { left, bottom } = node.getBoundingClientRect();
      this._menu?.dispose();
      this._menu = this._makeMenu(buttons, node);
      this._menu.open(left, bottom);
      this._menu.activeIndex = 0;
      node.setAttribute('aria-expanded', 'true');
    });
    node.classList.add('jp-Explora-card-more');
    node.setAttribute('aria-haspopup', 'menu');
    node.setAttribute('aria-expanded', 'false');
    return node;
  }

  private _makeMenu(
    buttons: readonly IActionButton<CardAction>[],
    opener: HTMLElement
  ): Menu {
    const commands = new CommandRegistry();
    const menu = new Menu({ commands });
    for (const { action, label, caption, disabled } of buttons) {
      commands.addCommand(action, {
        label,
        caption,
        describedBy: { args: { type: 'object', properties: {} } },
        isEnabled: () => !disabled,
        execute: () => this._onAction(action)
      });
      menu.addItem({ command: action });
    }
    menu.aboutToClose.connect(() => {
      opener.setAttribute('aria-expanded', 'false');
      opener.focus();
    });
    return menu;
  }

  private _pulse: Pulse;
  private _rendered = '';
  private _menu: Menu | null = null;
}

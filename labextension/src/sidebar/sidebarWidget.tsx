/**
 * The sidebar as a widget of the shell. It follows the current notebook.
 */
import { ReactWidget } from '@jupyterlab/ui-components';
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { IExplorations } from '../link/explorationInterface';
import { RunClock } from './runClock';
import { FocusKeeper } from './focusKeeper';
import type { IHostServices } from './hostServices';
import type { IPreferences } from './sidebarPreferences';
import { DEFAULTS } from './sidebarPreferences';
import { TranslationContext } from '../shared/translation';
import { explorationIcon } from '../shared/icons';
import { Sidebar } from './Sidebar';

export const SIDEBAR_ID = 'exploracoder-sidebar';

export class SidebarWidget extends ReactWidget {
  constructor(
    private explorations: IExplorations,
    private host: IHostServices,
    private trans: TranslationBundle
  ) {
    super();
    this.id = SIDEBAR_ID;
    this.addClass('jp-Explora-sidebar');
    this.title.icon = explorationIcon;
    this.title.caption = trans.__('Exploration');
    this.node.setAttribute('role', 'region');
    this.node.addEventListener('focusin', this.onFocus);
    this.focusKeeper = new FocusKeeper(this.node);
    this.node.setAttribute('aria-label', trans.__('Exploration'));
    explorations.currentChanged.connect(this.onCurrentChanged, this);
  }

  get preferences(): IPreferences {
    return this._preferences;
  }
  set preferences(preferences: IPreferences) {
    this._preferences = preferences;
    this.update();
  }

  dispose(): void {
    if (!this.isDisposed) {
      this.explorations.currentChanged.disconnect(this.onCurrentChanged, this);
      this.node.removeEventListener('focusin', this.onFocus);
      this.focusKeeper.dispose();
      super.dispose();
    }
  }

  /** Restore the last focus, or focus the first field of a form, or else the first focusable element. */
  focus(): void {
    const first = 'button:not(:disabled), [tabindex="0"]';
    const last = this.node.contains(this.last) ? this.last : null;
    const field = this.node.querySelector<HTMLElement>('form input');
    const start = field ?? this.node.querySelector<HTMLElement>(first);
    (last ?? start)?.focus();
  }

  protected render(): React.JSX.Element {
    return (
      <TranslationContext.Provider value={this.trans}>
        <Sidebar
          key={this.notebooks}
          model={this.explorations.current}
          host={this.host}
          preferences={this.preferences}
          clock={this.clock}
        />
      </TranslationContext.Provider>
    );
  }

  private onCurrentChanged(): void {
    this.notebooks += 1;
    this.update();
  }

  private onFocus = (event: FocusEvent): void => {
    this.last = event.target as HTMLElement;
  };

  private last: HTMLElement | null = null;
  private focusKeeper: FocusKeeper;
  private clock = new RunClock();
  private _preferences = DEFAULTS;
  /** A key that changes with the notebook, so that no component state is carried over. */
  private notebooks = 0;
}

/**
 * What the sidebar's components share: the translations, the application's services and the user's preferences.
 */
import type { TranslationBundle } from '@jupyterlab/translation';
import { nullTranslator } from '@jupyterlab/translation';
import * as React from 'react';

import type { IFormServices } from '../newExploration/formServicesToken';
import type { IActiveCell } from '../explorations/activeCell';

/** The application's services, apart from controls of runs. */
export interface IHostServices {
  /** Whether a notebook is open and current. */
  readonly hasNotebook: boolean;
  /** The notebook's active cell. */
  readonly activeCell: IActiveCell | null;
  /**
   * The keyboard shortcut that leads from the notebook to the sidebar, formatted for display; empty if there is none.
   */
  readonly shortcut: string;
  /** The forms of the sidebar. */
  readonly forms: IFormServices;
  /** Focus the notebook's active cell. */
  focusNotebook(): void;
  /** Open a file by its path relative to the notebook's folder. */
  open(link: string): void;
  insertExample(loaded: boolean): void;
  /** Open the comparison of a subtask's candidates. */
  compare(run: string, subtask: string): void;
  /** Copy text to the clipboard. */
  copy(text: string): void;
}

/** The user's settings. */
export interface IPreferences {
  /** When the sidebar opens automatically. */
  openOnRun: 'first' | 'always' | 'never';
  /** Whether a subtask is collapsed when it is done. */
  foldDone: boolean;
}

export const DEFAULTS: IPreferences = { openOnRun: 'first', foldDone: true };

/** Provides the translations into the user's language. */
export const TranslationContext: React.Context<TranslationBundle> =
  React.createContext(nullTranslator.load('exploracoder_jupyter'));

export function useTrans(): TranslationBundle {
  return React.useContext(TranslationContext);
}

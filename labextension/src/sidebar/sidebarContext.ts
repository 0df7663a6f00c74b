/**
 * What the sidebar's components share: the words, the world outside of the sidebar, and the user's choices.
 */
import type { TranslationBundle } from '@jupyterlab/translation';
import { nullTranslator } from '@jupyterlab/translation';
import * as React from 'react';

import type { IActiveCell } from './activeCell';

/** What the sidebar can do that is no control of a run. */
export interface IHostServices {
  /** Whether a notebook is open and current. */
  readonly hasNotebook: boolean;
  /** Where the user is in it. */
  readonly activeCell: IActiveCell | null;
  /** The keys that lead from the notebook to the sidebar, as people read them; empty if there are none. */
  readonly shortcut: string;
  /** Put the focus on the notebook's active cell. */
  focusNotebook(): void;
  /** Open a file, by its path from the notebook's folder. */
  open(link: string): void;
  insertExample(loaded: boolean): void;
  /** Put text on the clipboard. */
  copy(text: string): void;
}

/** What the user has set. */
export interface IPreferences {
  /** When the sidebar opens by itself. */
  openOnRun: 'first' | 'always' | 'never';
  /** Whether a subtask closes when it is done. */
  foldDone: boolean;
}

export const DEFAULTS: IPreferences = { openOnRun: 'first', foldDone: true };

/** The words in the user's language. */
export const TranslationContext: React.Context<TranslationBundle> =
  React.createContext(nullTranslator.load('exploracoder_jupyter'));

export function useTrans(): TranslationBundle {
  return React.useContext(TranslationContext);
}

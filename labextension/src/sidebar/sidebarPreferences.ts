/** The user's preferences about the sidebar. */
/** The user's settings. */
export interface IPreferences {
  /** When the sidebar opens automatically. */
  openOnRun: 'first' | 'always' | 'never';
  /** Whether a subtask is collapsed when it is done. */
  foldDone: boolean;
}

export const DEFAULTS: IPreferences = { openOnRun: 'first', foldDone: true };

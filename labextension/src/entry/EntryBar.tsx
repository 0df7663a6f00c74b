/** The line at the top of the sidebar that leads to its forms. */
import { settingsIcon } from '@jupyterlab/ui-components';
import * as React from 'react';

import { isFinished } from '../link/runStatus';
import type { RunView } from '../messages';
import { useTrans } from '../sidebar/sidebarContext';
import type { EntryPage, IEntry } from './entryTokens';

export function EntryBar(props: {
  entry: IEntry;
  /** The run that is shown. */
  run: RunView;
}): React.JSX.Element {
  const trans = useTrans();
  const { entry, run } = props;
  return (
    <div className="jp-Explora-entryBar">
      <button
        type="button"
        className="jp-Explora-button"
        onClick={() => entry.show('new')}
      >
        {trans.__('New exploration')}
      </button>
      {isFinished(run) && run.code !== null && (
        <button
          type="button"
          className="jp-Explora-button"
          title={trans.__(
            'Explore another task from the state after the solution'
          )}
          onClick={() => entry.followUp(run)}
        >
          {trans.__('Follow up…')}
        </button>
      )}
      <SettingsButton entry={entry} />
    </div>
  );
}

export function SettingsButton({
  entry
}: {
  entry: IEntry;
}): React.JSX.Element {
  const trans = useTrans();
  return (
    <button
      type="button"
      className="jp-Explora-button jp-Explora-gear"
      aria-label={trans.__('Settings')}
      title={trans.__('Settings')}
      onClick={() => entry.show('settings')}
    >
      <settingsIcon.react tag="span" aria-hidden="true" />
    </button>
  );
}

/** The page to show. Renders again when another one is requested. */
export function useEntryPage(entry: IEntry): EntryPage {
  const [, redraw] = React.useReducer((times: number) => times + 1, 0);
  React.useEffect(() => {
    entry.changed.connect(redraw);
    return () => {
      entry.changed.disconnect(redraw);
    };
  }, [entry]);
  return entry.page;
}

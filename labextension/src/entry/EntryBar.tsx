/** The line at the top of the sidebar that leads to its forms. */
import * as React from 'react';

import { useTrans } from '../sidebar/sidebarContext';
import type { EntryPage, IEntry } from './entryTokens';

export function EntryBar({ entry }: { entry: IEntry }): React.JSX.Element {
  const trans = useTrans();
  return (
    <div className="jp-Explora-entryBar">
      <button
        type="button"
        className="jp-Explora-button"
        onClick={() => entry.show('new')}
      >
        {trans.__('New exploration')}
      </button>
    </div>
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

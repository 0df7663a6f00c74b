/** The form for a new exploration in place of the runs. */
import * as React from 'react';

import { useTrans } from '../sidebar/sidebarContext';
import type { IEntry } from './entryTokens';
import { TaskForm } from './TaskForm';

export function NewExploration({
  entry
}: {
  entry: IEntry;
}): React.JSX.Element {
  const trans = useTrans();
  return (
    <section className="jp-Explora-scroll">
      <h2>{trans.__('New exploration')}</h2>
      <TaskForm
        key={entry.version}
        entry={entry}
        focus
        onClose={() => entry.show('runs')}
      />
    </section>
  );
}

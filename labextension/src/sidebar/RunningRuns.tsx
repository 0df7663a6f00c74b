/**
 * Says that other runs are going than the one that is shown, and leads to them.
 */
import * as React from 'react';

import { isFinal } from '../link/runStatus';
import type { RunView } from '../messages';
import { clip } from './format';
import { useTrans } from './sidebarContext';
import { unquoted } from './Prose';
import { runWords } from './statusLabels';

export function Going(props: {
  /** Oldest first. */
  runs: readonly RunView[];
  shown: RunView;
  onShow: (key: string) => void;
}): React.JSX.Element {
  const trans = useTrans();
  const { runs, shown, onShow } = props;
  const going = runs.filter(run => !isFinal(run));
  const choices = runs.filter(run => run === shown || going.includes(run));
  return (
    <div className="jp-Explora-banner jp-Explora-going">
      <span>
        {trans._n('%1 run is going', '%1 runs are going', going.length)}
      </span>
      <select
        className="jp-Explora-select"
        aria-label={trans.__('Run to show')}
        value={shown.key}
        onChange={event => onShow(event.target.value)}
      >
        {choices.map(run => (
          <option key={run.key} value={run.key}>
            {`${runWords(run.status, trans).text}: ${clip(unquoted(run.task), 60)}`}
          </option>
        ))}
      </select>
    </div>
  );
}

/** Whether there is anything to say. */
export function othersGo(runs: readonly RunView[], shown: RunView): boolean {
  return runs.some(run => run !== shown && !isFinal(run));
}

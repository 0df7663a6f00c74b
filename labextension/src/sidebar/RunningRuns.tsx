/**
 * Shows that other runs are in progress and lets the user switch to them.
 */
import * as React from 'react';

import { isFinished } from '../link/runStatus';
import type { RunView } from '../messages';
import { truncate } from '../shared/format';
import { useTrans } from '../shared/translation';
import { stripBackticks } from '../shared/TextWithCode';
import { runStatusLabel } from '../shared/statusLabels';

export function RunningRuns(props: {
  /** Oldest first. */
  runs: readonly RunView[];
  shown: RunView;
  onShow: (key: string) => void;
}): React.JSX.Element {
  const trans = useTrans();
  const { runs, shown, onShow } = props;
  const active = runs.filter(run => !isFinished(run));
  const choices = runs.filter(run => run === shown || active.includes(run));
  return (
    <div className="jp-Explora-banner jp-Explora-going">
      <span>
        {trans._n('%1 run in progress', '%1 runs in progress', active.length)}
      </span>
      <select
        className="jp-Explora-select"
        aria-label={trans.__('Run to show')}
        value={shown.key}
        onChange={event => onShow(event.target.value)}
      >
        {choices.map(run => (
          <option key={run.key} value={run.key}>
            {`${runStatusLabel(run.status, trans).text}: ${truncate(stripBackticks(run.task), 60)}`}
          </option>
        ))}
      </select>
    </div>
  );
}

/** Whether a run other than the shown one is in progress. */
export function hasOtherActiveRuns(
  runs: readonly RunView[],
  shown: RunView
): boolean {
  return runs.some(run => run !== shown && !isFinished(run));
}

/**
 * What was explored in this notebook: the runs of this session, and the traces of earlier ones.
 */
import * as React from 'react';

import type { RunView, TraceView } from '../messages';
import { clip, moment } from './format';
import type { IDesk } from './host';
import { useTrans } from './host';
import { StatusSign } from './icons';
import { runWords } from './words';

export function History(props: {
  /** Oldest first. */
  runs: readonly RunView[];
  traces: readonly TraceView[];
  shown: string | null;
  onShow: (key: string) => void;
  desk: IDesk;
}): React.JSX.Element | null {
  const trans = useTrans();
  const { runs, shown, onShow, desk } = props;
  const here = new Set(runs.map(run => run.trace_link));
  const traces = props.traces.filter(trace => !here.has(trace.link));
  if (runs.length < 2 && traces.length === 0) {
    return null;
  }
  return (
    <details className="jp-Explora-section">
      <summary>{trans.__('History of this notebook')}</summary>
      {runs.length > 1 && (
        <ul className="jp-Explora-history" aria-label={trans.__('Runs')}>
          {[...runs].reverse().map(run => (
            <RunRow
              key={run.key}
              run={run}
              shown={run.key === shown}
              onShow={onShow}
            />
          ))}
        </ul>
      )}
      {traces.length > 0 && (
        <ul className="jp-Explora-history" aria-label={trans.__('Traces')}>
          {traces.map(trace => (
            <li key={trace.link}>
              <button
                type="button"
                className="jp-Explora-entry"
                onClick={() => desk.open(trace.link)}
              >
                <span>{trans.__('Trace of %1', moment(trace.changed))}</span>
                <span className="jp-Explora-note">{trace.link}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}

function RunRow(props: {
  run: RunView;
  shown: boolean;
  onShow: (key: string) => void;
}): React.JSX.Element {
  const trans = useTrans();
  const { run, shown, onShow } = props;
  const words = runWords(run.status, trans);
  return (
    <li>
      <button
        type="button"
        className="jp-Explora-entry"
        aria-current={shown}
        onClick={() => onShow(run.key)}
      >
        <span className="jp-Explora-status">
          <StatusSign sign={words.sign} />
          {words.text}
        </span>
        <span className="jp-Explora-note">
          {run.started !== null && `${moment(run.started)}: `}
          {clip(run.task, 80)}
        </span>
      </button>
    </li>
  );
}

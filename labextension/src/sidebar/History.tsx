/**
 * Earlier explorations: the runs of this session, then earlier ones in this folder and in others.
 */
import * as React from 'react';

import { isFinished } from '../link/runStatus';
import type { RunView, TraceView } from '../messages';
import { truncate, formatTime } from '../shared/format';
import type { IHostServices } from './hostServices';
import { useTrans } from '../shared/translation';
import { StatusGlyph } from '../shared/icons';
import { stripBackticks } from '../shared/TextWithCode';
import { outcomeLabel, runStatusLabel } from '../shared/statusLabels';

/** Number of traces that are listed until the user asks for all. */
const VISIBLE_TRACES = 5;

/** Matches the names of exported notebooks. */
const EXPORTED = /-selected\.ipynb$/;

export function History(props: {
  /** Oldest first. */
  runs: readonly RunView[];
  traces: readonly TraceView[];
  shown: string | null;
  onShow: (key: string) => void;
  host: IHostServices;
}): React.JSX.Element {
  const { runs, shown, onShow, host } = props;
  const here = new Set(
    runs.flatMap(run => [run.trace, run.trace_link]).filter(Boolean)
  );
  const traces = props.traces.filter(
    ({ link, path }) => !here.has(link) && !here.has(path)
  );
  return (
    <>
      {runs.length > 1 && <Runs {...{ runs, shown, onShow }} />}
      {traces.length > 0 && <Traces {...{ traces, host }} />}
    </>
  );
}

function Runs(props: {
  runs: readonly RunView[];
  shown: string | null;
  onShow: (key: string) => void;
}): React.JSX.Element {
  const trans = useTrans();
  const { runs, shown, onShow } = props;
  const title = trans.__('Runs of this session');
  return (
    <details className="jp-Explora-section" open>
      <summary>{title}</summary>
      <ul className="jp-Explora-history" aria-label={title}>
        {[...runs].reverse().map(run => (
          <RunRow
            key={run.key}
            run={run}
            shown={run.key === shown}
            onShow={onShow}
          />
        ))}
      </ul>
    </details>
  );
}

/** Lists traces, newest first, then exported traces. */
function Traces(props: {
  traces: readonly TraceView[];
  host: IHostServices;
}): React.JSX.Element {
  const trans = useTrans();
  const [all, setAll] = React.useState(false);
  const traces = [...props.traces].sort(
    (one, other) =>
      Number(isExport(one)) - Number(isExport(other)) ||
      startTime(other) - startTime(one)
  );
  const listed = all ? traces : traces.slice(0, VISIBLE_TRACES);
  const title = trans.__('Earlier explorations');
  return (
    <details className="jp-Explora-section" open>
      <summary>{title}</summary>
      <ul className="jp-Explora-history" aria-label={title}>
        {listed.map(trace => (
          <TraceRow
            key={trace.path || `${trace.started}`}
            trace={trace}
            host={props.host}
          />
        ))}
      </ul>
      {listed.length < traces.length && (
        <button
          type="button"
          className="jp-Explora-link"
          onClick={() => setAll(true)}
        >
          {trans.__('Show all (%1 more)', traces.length - listed.length)}
        </button>
      )}
    </details>
  );
}

function isExport(trace: TraceView): boolean {
  return EXPORTED.test(trace.link);
}

function startTime(trace: TraceView): number {
  return trace.started ?? trace.changed;
}

/** A trace: a button if the page can open it, otherwise text. */
function TraceRow(props: {
  trace: TraceView;
  host: IHostServices;
}): React.JSX.Element {
  const { trace, host } = props;
  return (
    <li>
      {trace.link ? (
        <button
          type="button"
          className="jp-Explora-entry"
          onClick={() => host.open(trace.link)}
        >
          <TraceFacts trace={trace} />
        </button>
      ) : (
        <div className="jp-Explora-entry jp-mod-still">
          <TraceFacts trace={trace} />
          {trace.path && !trace.gone && (
            <CopyPath path={trace.path} host={host} />
          )}
        </div>
      )}
    </li>
  );
}

function TraceFacts({ trace }: { trace: TraceView }): React.JSX.Element {
  const trans = useTrans();
  const when = formatTime(startTime(trace));
  const label = outcomeLabel(trace.outcome, trans);
  const notes = [
    truncate(stripBackticks(trace.task), 80),
    trace.libraries,
    trace.cost,
    trace.link || (trace.resume ? '' : trace.path),
    trace.gone ? trans.__('The trace file no longer exists.') : '',
    trace.resume && trans.__('To resume: %1', `%%explora ${trace.resume}`)
  ];
  return (
    <>
      <span className="jp-Explora-status">
        {label && <StatusGlyph sign={label.sign} />}
        {[label?.text, isExport(trace) ? trans.__('Export of %1', when) : when]
          .filter(Boolean)
          .join(', ')}
      </span>
      {notes.filter(Boolean).map((note, index) => (
        <span key={index} className="jp-Explora-note">
          {note}
        </span>
      ))}
    </>
  );
}

function CopyPath(props: {
  path: string;
  host: IHostServices;
}): React.JSX.Element {
  const trans = useTrans();
  const [copied, setCopied] = React.useState(false);
  return (
    <button
      type="button"
      className="jp-Explora-link"
      onClick={() => {
        props.host.copy(props.path);
        setCopied(true);
      }}
    >
      {copied ? trans.__('Copied') : trans.__('Copy the path')}
    </button>
  );
}

function RunRow(props: {
  run: RunView;
  shown: boolean;
  onShow: (key: string) => void;
}): React.JSX.Element {
  const trans = useTrans();
  const { run, shown, onShow } = props;
  const label = runStatusLabel(run.status, trans);
  return (
    <li>
      <button
        type="button"
        className="jp-Explora-entry"
        aria-current={shown}
        onClick={() => onShow(run.key)}
      >
        <span className="jp-Explora-status">
          <StatusGlyph sign={label.sign} />
          {[label.text, run.started !== null && formatTime(run.started)]
            .filter(Boolean)
            .join(', ')}
        </span>
        <span className="jp-Explora-note">
          {truncate(stripBackticks(run.task), 80)}
        </span>
        {run.origin && (
          <span className="jp-Explora-note">{stripBackticks(run.origin)}</span>
        )}
        {isFinished(run) && (
          <span className="jp-Explora-note">
            {truncate(stripBackticks(run.activity), 120)}
          </span>
        )}
      </button>
    </li>
  );
}

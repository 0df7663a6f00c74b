/**
 * What was explored before: the runs of this session, then earlier ones, of this folder and of others.
 */
import * as React from 'react';

import { isFinal } from '../link/runStatus';
import type { RunView, TraceView } from '../messages';
import { clip, moment } from './format';
import type { IDesk } from './sidebarContext';
import { useTrans } from './sidebarContext';
import { StatusSign } from './icons';
import { unquoted } from './Prose';
import { outcomeWords, runWords } from './statusLabels';

/** So many traces are listed until all are asked for. */
const FEW = 5;

/** What the name of an exported notebook ends in. */
const EXPORTED = /-selected\.ipynb$/;

export function History(props: {
  /** Oldest first. */
  runs: readonly RunView[];
  traces: readonly TraceView[];
  shown: string | null;
  onShow: (key: string) => void;
  desk: IDesk;
}): React.JSX.Element {
  const { runs, shown, onShow, desk } = props;
  const here = new Set(
    runs.flatMap(run => [run.trace, run.trace_link]).filter(Boolean)
  );
  const traces = props.traces.filter(
    ({ link, path }) => !here.has(link) && !here.has(path)
  );
  return (
    <>
      {runs.length > 1 && <Runs {...{ runs, shown, onShow }} />}
      {traces.length > 0 && <Traces {...{ traces, desk }} />}
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

/** Newest first, exports of traces after them. */
function Traces(props: {
  traces: readonly TraceView[];
  desk: IDesk;
}): React.JSX.Element {
  const trans = useTrans();
  const [all, setAll] = React.useState(false);
  const traces = [...props.traces].sort(
    (one, other) =>
      Number(isExport(one)) - Number(isExport(other)) ||
      began(other) - began(one)
  );
  const listed = all ? traces : traces.slice(0, FEW);
  const title = trans.__('Explored before');
  return (
    <details className="jp-Explora-section" open>
      <summary>{title}</summary>
      <ul className="jp-Explora-history" aria-label={title}>
        {listed.map(trace => (
          <TraceRow
            key={trace.path || `${trace.started}`}
            trace={trace}
            desk={props.desk}
          />
        ))}
      </ul>
      {listed.length < traces.length && (
        <button
          type="button"
          className="jp-Explora-link"
          onClick={() => setAll(true)}
        >
          {trans.__('Show all: %1 more', traces.length - listed.length)}
        </button>
      )}
    </details>
  );
}

function isExport(trace: TraceView): boolean {
  return EXPORTED.test(trace.link);
}

function began(trace: TraceView): number {
  return trace.started ?? trace.changed;
}

/** A button where the page can open the trace, else what is known of it. */
function TraceRow(props: { trace: TraceView; desk: IDesk }): React.JSX.Element {
  const { trace, desk } = props;
  return (
    <li>
      {trace.link ? (
        <button
          type="button"
          className="jp-Explora-entry"
          onClick={() => desk.open(trace.link)}
        >
          <TraceFacts trace={trace} />
        </button>
      ) : (
        <div className="jp-Explora-entry jp-mod-still">
          <TraceFacts trace={trace} />
          {trace.path && !trace.gone && (
            <CopyPath path={trace.path} desk={desk} />
          )}
        </div>
      )}
    </li>
  );
}

function TraceFacts({ trace }: { trace: TraceView }): React.JSX.Element {
  const trans = useTrans();
  const when = moment(began(trace));
  const words = outcomeWords(trace.outcome, trans);
  const notes = [
    clip(unquoted(trace.task), 80),
    trace.libraries,
    trace.cost,
    trace.link || (trace.resume ? '' : trace.path),
    trace.gone ? trans.__('Its trace is gone.') : '',
    trace.resume && trans.__('To go on: %1', `%%explora ${trace.resume}`)
  ];
  return (
    <>
      <span className="jp-Explora-status">
        {words && <StatusSign sign={words.sign} />}
        {[words?.text, isExport(trace) ? trans.__('Export of %1', when) : when]
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

function CopyPath(props: { path: string; desk: IDesk }): React.JSX.Element {
  const trans = useTrans();
  const [copied, setCopied] = React.useState(false);
  return (
    <button
      type="button"
      className="jp-Explora-link"
      onClick={() => {
        props.desk.copy(props.path);
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
          {[words.text, run.started !== null && moment(run.started)]
            .filter(Boolean)
            .join(', ')}
        </span>
        <span className="jp-Explora-note">{clip(unquoted(run.task), 80)}</span>
        {run.origin && (
          <span className="jp-Explora-note">{unquoted(run.origin)}</span>
        )}
        {isFinal(run) && (
          <span className="jp-Explora-note">
            {clip(unquoted(run.activity), 120)}
          </span>
        )}
      </button>
    </li>
  );
}

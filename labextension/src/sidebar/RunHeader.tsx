/**
 * The header of a run: its status, task and cost.
 */
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import { isFinished } from '../link/runStatus';
import type { RunView } from '../messages';
import type { RunClock } from './runClock';
import {
  formatCompact,
  truncate,
  formatCount,
  percentage,
  formatDuration
} from '../shared/format';
import { useTrans } from '../shared/translation';
import { StatusGlyph } from '../shared/icons';
import { TextWithCode } from '../shared/TextWithCode';
import { runStatusLabel } from '../shared/statusLabels';

/** A task with more characters or lines is truncated. */
const MAX_TASK_LENGTH = 160;
const MAX_TASK_LINES = 3;

/** Status and time. */
export function StatusLine(props: {
  run: RunView;
  clock: RunClock;
}): React.JSX.Element {
  const trans = useTrans();
  const { run, clock } = props;
  const label = runStatusLabel(run.status, trans);
  const seconds = useElapsed(run, clock);
  return (
    <div className="jp-Explora-status">
      <StatusGlyph sign={label.sign} />
      <strong>{label.text}</strong>
      {seconds !== null && (
        <span className="jp-Explora-elapsed" title={trans.__('Time elapsed')}>
          <span className="jp-Explora-unseen">{trans.__('Time elapsed')} </span>
          {formatDuration(seconds)}
        </span>
      )}
    </div>
  );
}

/** The task. A long one is truncated until the user expands it. */
export function TaskText(props: {
  text: string;
  /** Goes to the calling cell; `null` if it is not in the notebook. */
  onGo: (() => void) | null;
}): React.JSX.Element {
  const trans = useTrans();
  const [whole, setWhole] = React.useState(false);
  const { text } = props;
  const long =
    text.length > MAX_TASK_LENGTH || text.split('\n').length > MAX_TASK_LINES;
  return (
    <div className="jp-Explora-task">
      <p>
        <TextWithCode
          text={long && !whole ? truncate(text, MAX_TASK_LENGTH) : text}
        />
      </p>
      <div className="jp-Explora-links">
        {long && (
          <button
            type="button"
            className="jp-Explora-link"
            aria-expanded={whole}
            onClick={() => setWhole(!whole)}
          >
            {whole ? trans.__('Show less') : trans.__('Show all')}
          </button>
        )}
        {props.onGo && (
          <button
            type="button"
            className="jp-Explora-link"
            onClick={props.onGo}
          >
            {trans.__('Go to cell')}
          </button>
        )}
      </div>
    </div>
  );
}

/** Libraries, model and cost. */
export function Facts(props: {
  run: RunView;
  clock: RunClock;
}): React.JSX.Element {
  const trans = useTrans();
  const { run, clock } = props;
  const seconds = useElapsed(run, clock) ?? 0;
  return (
    <>
      <dl className="jp-Explora-facts jp-mod-line">
        <Fact name={trans.__('Libraries')} value={run.libraries.join(', ')} />
        <Fact name={trans.__('Model')} value={run.model} />
        {run.model && (
          <Fact name={trans.__('Spent')} value={spentText(run, trans)} />
        )}
        {!isFinished(run) && run.estimate && (
          <Fact
            name={trans.__('Expected')}
            value={trans.__('expected: %1', run.estimate)}
          />
        )}
      </dl>
      <div className="jp-Explora-budgets">
        {run.budget_tokens !== null && !isOffline(run) && (
          <Budget
            name={trans.__('Token budget')}
            part={run.tokens}
            whole={run.budget_tokens}
            text={trans.__(
              '%1 of %2 tokens',
              formatCompact(run.tokens),
              formatCompact(run.budget_tokens)
            )}
            exact={trans.__(
              '%1 of %2 tokens',
              formatCount(run.tokens),
              formatCount(run.budget_tokens)
            )}
          />
        )}
        {run.budget_seconds !== null && (
          <Budget
            name={trans.__('Time budget')}
            part={seconds}
            whole={run.budget_seconds}
            text={trans.__(
              '%1 of %2',
              formatDuration(seconds),
              formatDuration(run.budget_seconds)
            )}
          />
        )}
      </div>
    </>
  );
}

/** Details that rarely matter while the run is active. */
export function Details(props: { run: RunView }): React.JSX.Element | null {
  const trans = useTrans();
  const { isolation, trace } = props.run;
  return isolation || trace ? (
    <details className="jp-Explora-section">
      <summary>{trans.__('Details')}</summary>
      <dl className="jp-Explora-facts">
        <Fact name={trans.__('Isolation')} value={isolation} />
        <Fact name={trans.__('Trace')} value={trace} />
      </dl>
    </details>
  ) : null;
}

/** Whether the run uses the offline model, which is not a language model and costs nothing. */
function isOffline(run: RunView): boolean {
  return run.model === 'offline';
}

function spentText(run: RunView, trans: TranslationBundle): string {
  const executions = trans._n('%1 execution', '%1 executions', run.executions);
  if (isOffline(run)) {
    return executions;
  }
  const tokens = trans.__('%1 tokens', formatCount(run.tokens));
  return [
    trans._n('%1 model call', '%1 model calls', run.calls),
    executions,
    // The token budget shows the tokens.
    ...(run.budget_tokens === null ? [tokens] : []),
    ...(run.cost ? [run.cost] : [])
  ].join(', ');
}

/** A name and its value. Renders nothing if the value is empty. */
function Fact(props: {
  name: string;
  value: string;
}): React.JSX.Element | null {
  return props.value ? (
    <div title={props.name}>
      <dt>{props.name}</dt>
      <dd>{props.value}</dd>
    </div>
  ) : null;
}

function Budget(props: {
  name: string;
  part: number;
  whole: number;
  text: string;
  /** The exact numbers, if `text` is rounded. */
  exact?: string;
}): React.JSX.Element {
  const percent = percentage(props.part, props.whole);
  const exact = props.exact ?? props.text;
  return (
    <div className="jp-Explora-budget" title={`${props.name}: ${exact}`}>
      <div className="jp-Explora-note" aria-hidden="true">
        {props.text}
      </div>
      <div
        className="jp-Explora-bar"
        role="progressbar"
        aria-label={props.name}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent}
        aria-valuetext={exact}
      >
        <div
          className={percent >= 90 ? 'jp-mod-nearlySpent' : ''}
          style={{ width: `${percent}%` }}
        />
      </div>
    </div>
  );
}

/** The elapsed seconds, updated every second while the run is active. */
function useElapsed(run: RunView, clock: RunClock): number | null {
  const [, tick] = React.useReducer((ticks: number) => ticks + 1, 0);
  const live = !isFinished(run);
  React.useEffect(() => {
    const timer = live ? window.setInterval(tick, 1000) : undefined;
    return () => window.clearInterval(timer);
  }, [live]);
  return clock.elapsed(run);
}

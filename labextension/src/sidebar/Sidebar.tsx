/**
 * The sidebar: shows the run that was selected last, in the notebook or from the history, or the newest when one
 * starts.
 */
import * as React from 'react';

import { isFinished } from '../link/runStatus';
import type {
  IRunCell,
  INotebookExplorations
} from '../link/explorationInterface';
import type { RunView } from '../messages';
import { NavigationBar, useSidebarPage } from './NavigationBar';
import { FailedCellDiff } from '../newExploration/FailedCellDiff';
import { NewExploration } from '../newExploration/NewExploration';
import { Activity } from './Activity';
import { canEditPlan, acceptsControls } from '../link/controlAvailability';
import type { IControlRequests } from './controlRequests';
import { useControlRequests } from './controlRequests';
import type { RunClock } from './runClock';
import { EmptyState } from './EmptyState';
import { LOAD_CELL } from './example';
import { RunningRuns, hasOtherActiveRuns } from './RunningRuns';
import { Details, Facts, StatusLine, TaskText } from './RunHeader';
import { History } from './History';
import type { IHostServices } from './hostServices';
import type { IPreferences } from './sidebarPreferences';
import { useTrans } from '../shared/translation';
import { SettingsPage } from '../settings/SettingsPage';
import { ItemActions } from './ItemActions';
import { PlanEditor } from './PlanEditor';
import { runOfCell } from '../explorations/activeCell';
import { PlanTree } from './PlanTree';
import { TextWithCode } from '../shared/TextWithCode';
import { RunActions } from './RunActions';
import { runStatusLabel } from '../shared/statusLabels';

interface ISidebarProps {
  host: IHostServices;
  preferences: IPreferences;
  clock: RunClock;
}

/** Renders the model again whenever it has changed. */
export function Sidebar(
  props: ISidebarProps & { model: INotebookExplorations | null }
): React.JSX.Element {
  const { model, host } = props;
  const [, redraw] = React.useReducer((times: number) => times + 1, 0);
  React.useEffect(() => {
    model?.changed.connect(redraw);
    return () => {
      model?.changed.disconnect(redraw);
    };
  }, [model]);
  // Settings belong to the kernel of a notebook: they do not stay open for the next notebook.
  React.useEffect(() => {
    if (!model && host.forms.page === 'settings') {
      host.forms.show('runs');
    }
  }, [model]);
  return (
    <div className="jp-Explora-content">
      {model ? (
        <ExplorationRegistry {...props} model={model} />
      ) : (
        <div className="jp-Explora-scroll">
          <EmptyState link="none" host={host} />
        </div>
      )}
    </div>
  );
}

interface IExplorationsProps extends ISidebarProps {
  model: INotebookExplorations;
}

function ExplorationRegistry(props: IExplorationsProps): React.JSX.Element {
  const { model, host } = props;
  const newest = newestRun(model);
  const [picked, pick] = React.useState<string | null>(null);
  const there = runOfCell(model.runs, host.activeCell)?.key;
  const known = React.useRef(newest?.key);
  React.useEffect(() => {
    pick(null);
    // A run that starts is shown in place of an open form, which keeps what was typed.
    if (newest?.key !== known.current && host.forms.page === 'new') {
      host.forms.show('runs');
    }
    known.current = newest?.key;
  }, [newest?.key]);
  // Keep the run when the active cell belongs to no run.
  React.useEffect(() => pick(before => there ?? before), [there]);
  const run = model.runs.find(({ key }) => key === picked) ?? newest;
  const page = useSidebarPage(host.forms);
  const others = run !== undefined && hasOtherActiveRuns(model.runs, run);
  if (page === 'settings' && host.hasNotebook) {
    return <SettingsPage forms={host.forms} link={model.link} />;
  }
  if (run && page === 'new') {
    return <NewExploration forms={host.forms} />;
  }
  return (
    <>
      <ConnectionNote model={model} />
      {run && <NavigationBar forms={host.forms} run={run} />}
      {run && others && (
        <RunningRuns runs={model.runs} shown={run} onShow={pick} />
      )}
      {run ? (
        <RunPanel
          key={run.key}
          {...props}
          run={run}
          earlier={run !== newest && !others}
          onShow={pick}
        />
      ) : (
        <div className="jp-Explora-scroll">
          <EmptyState link={model.link} host={host} />
          <History
            runs={[]}
            traces={model.traces}
            shown={null}
            onShow={pick}
            host={host}
          />
        </div>
      )}
    </>
  );
}

/** The newest run. Runs that another page shows, in a notebook that is not this one, are considered last. */
function newestRun(model: INotebookExplorations): RunView | undefined {
  const ours = ({ key, owner }: RunView) =>
    owner === '' || model.isOwned(key) || model.isHere(key);
  return model.runs.filter(ours).at(-1) ?? model.runs.at(-1);
}

/** Explains why the kernel cannot be controlled, if it cannot. */
function ConnectionNote(props: {
  model: INotebookExplorations;
}): React.JSX.Element | null {
  const trans = useTrans();
  const { link, runs } = props.model;
  const notes: Record<typeof link, string> = {
    ready: '',
    none: runs.length
      ? trans.__(
          'The kernel was restarted, or has not loaded the extension, so these runs cannot be controlled. Run %1 to explore again.',
          LOAD_CELL
        )
      : '',
    connecting: trans.__('Connecting to the kernel…'),
    waiting: trans.__(
      'This kernel handles controls only after the running cell finishes. You can still interrupt the kernel.'
    ),
    'other-version': trans.__(
      'The kernel and this page use incompatible versions of exploracoder_jupyter. Update the older one, then reload the page.'
    )
  };
  return notes[link] ? (
    <p className="jp-Explora-banner" role="status">
      {notes[link]}
    </p>
  ) : null;
}

interface IRunPanel extends IExplorationsProps {
  run: RunView;
  /** Whether to show that there are newer runs. */
  earlier: boolean;
  /** Shows another run, or the newest for `null`. */
  onShow: (key: string | null) => void;
}

function RunPanel(props: IRunPanel): React.JSX.Element {
  const trans = useTrans();
  const { run, model, clock, host, onShow } = props;
  const requests = useControlRequests(model, run);
  const go = (cell: IRunCell, focus: boolean) => {
    const there = model.reveal(run.key, cell, focus);
    const step = run.subtasks.find(({ id }) => id === cell.subtask);
    const missing =
      step?.status === 'planned' && !isFinished(run)
        ? trans.__('This step has not started yet.')
        : trans.__('The cell is no longer in this notebook.');
    requests.showReply(there ? null : { problem: '', said: missing, link: '' });
  };
  const here = model.isHere(run.key);
  return (
    <>
      <div className="jp-Explora-top">
        {props.earlier && <EarlierRunNote onNewest={() => onShow(null)} />}
        <StatusLine run={run} clock={clock} />
        <RunActions {...{ run, model, requests, host }} />
        <Activity
          text={run.activity}
          over={isFinished(run)}
          failed={run.status === 'failed'}
          status={runStatusLabel(run.status, trans).text}
        />
      </div>
      <div className="jp-Explora-scroll">
        {here ? (
          <OtherTabNote run={run} model={model} />
        ) : (
          <NotHereNote run={run} />
        )}
        <TaskText
          text={run.task}
          onGo={model.hasCaller(run.key) ? () => go({}, true) : null}
        />
        <FailedCellDiff run={run} forms={host.forms} />
        <Facts run={run} clock={clock} />
        <Notices notices={run.notices} />
        <Plan {...props} requests={requests} go={go} />
        <Details run={run} />
        <History
          runs={model.runs}
          traces={model.traces}
          shown={run.key}
          onShow={onShow}
          host={host}
        />
      </div>
      <ReplyBar requests={requests} host={host} />
    </>
  );
}

function EarlierRunNote(props: { onNewest: () => void }): React.JSX.Element {
  const trans = useTrans();
  return (
    <p className="jp-Explora-banner">
      {trans.__('This is an earlier run.')}{' '}
      <button
        type="button"
        className="jp-Explora-link"
        onClick={props.onNewest}
      >
        {trans.__('Show the latest')}
      </button>
    </p>
  );
}

function OtherTabNote(props: {
  run: RunView;
  model: INotebookExplorations;
}): React.JSX.Element | null {
  const trans = useTrans();
  const { run, model } = props;
  return run.owner && !model.isOwned(run.key) && !isFinished(run) ? (
    <p className="jp-Explora-banner">
      {trans.__('The cells of this run appear in another tab.')}
    </p>
  ) : null;
}

function NotHereNote({ run }: { run: RunView }): React.JSX.Element {
  const trans = useTrans();
  return (
    <p className="jp-Explora-banner">
      {isFinished(run)
        ? trans.__(
            'The cells of this run are not in this notebook. They are in its trace.'
          )
        : trans.__(
            'The cells of this run are not in this notebook. You can control the run here and insert its solution when it finishes.'
          )}
    </p>
  );
}

function Notices(props: {
  notices: readonly string[];
}): React.JSX.Element | null {
  const trans = useTrans();
  const { notices } = props;
  return notices.length ? (
    <details className="jp-Explora-section" open={notices.length < 3}>
      <summary>{trans._n('%1 notice', '%1 notices', notices.length)}</summary>
      <ul className="jp-Explora-notices">
        {notices.map((notice, index) => (
          <li key={index}>
            <TextWithCode text={notice} />
          </li>
        ))}
      </ul>
    </details>
  ) : null;
}

/** The plan: as a tree, under review, or in the editor. */
function Plan(
  props: IRunPanel & {
    requests: IControlRequests;
    go: (cell: IRunCell, focus: boolean) => void;
  }
): React.JSX.Element | null {
  const trans = useTrans();
  const { run, model, requests, go } = props;
  const [editing, setEditing] = React.useState(false);
  const editable = acceptsControls(model) && canEditPlan(run);
  const pending = requests.isPending('plan');
  const opener = React.useRef<HTMLButtonElement>(null);
  const close = () => {
    setEditing(false);
    opener.current?.focus();
  };
  const send = (titles: string[]) => {
    requests.send('plan', model.plan(run.key, titles));
    close();
  };
  if (run.subtasks.length === 0) {
    return null;
  }
  if (run.status === 'reviewing' && acceptsControls(model)) {
    return <PlanEditor run={run} pending={pending} onSend={send} />;
  }
  return (
    <section>
      <div className="jp-Explora-planHead">
        <h3>{trans.__('Plan')}</h3>
        {editable && (
          <button
            ref={opener}
            type="button"
            className="jp-Explora-link"
            aria-expanded={editing}
            aria-disabled={pending}
            onClick={() => setEditing(!editing && !pending)}
          >
            {pending ? trans.__('Applying…') : trans.__('Edit the plan')}
          </button>
        )}
      </div>
      {editable && editing && (
        <PlanEditor run={run} pending={pending} onSend={send} onClose={close} />
      )}
      <PlanTree
        run={run}
        foldDone={props.preferences.foldDone}
        go={go}
        extra={(item, back) => (
          <ItemActions
            {...{ run, model, requests, item, back }}
            host={props.host}
          />
        )}
      />
      {props.host.shortcut && (
        <p className="jp-Explora-note">
          {trans.__(
            'Press Enter to go to the cell and %1 to come back.',
            props.host.shortcut
          )}
        </p>
      )}
    </section>
  );
}

/** The latest reply to a user action, always visible. */
function ReplyBar(props: {
  requests: IControlRequests;
  host: IHostServices;
}): React.JSX.Element {
  const trans = useTrans();
  const { requests, host } = props;
  const { reply } = requests;
  return (
    <div
      className={`jp-Explora-reply${reply?.problem ? ' jp-mod-problem' : ''}`}
      role="status"
      aria-live={reply?.problem ? 'assertive' : 'polite'}
    >
      {reply && (
        <>
          <span>{reply.problem || reply.said}</span>
          {reply.link && (
            <button
              type="button"
              className="jp-Explora-link"
              onClick={() => host.open(reply.link)}
            >
              {trans.__('Open %1', reply.link)}
            </button>
          )}
          <button
            type="button"
            className="jp-Explora-button jp-mod-small"
            aria-label={trans.__('Close this message')}
            onClick={() => requests.showReply(null)}
          >
            ✕
          </button>
        </>
      )}
    </div>
  );
}

/**
 * The actions for the whole run.
 */
import * as React from 'react';

import { isFinished } from '../link/runStatus';
import type {
  Control,
  INotebookExplorations
} from '../link/explorationInterface';
import type { Done, RunView } from '../messages';
import {
  acceptsControls,
  canExploreNow,
  canStop
} from '../link/controlAvailability';
import { ActionButton } from './ActionButton';
import type { IControlRequests } from './controlRequests';
import {
  goLabel,
  insertedMessage,
  insertLabel,
  keepSolutionLabel,
  removedMessage
} from '../shared/sharedWording';
import { FormButtons } from './FormButtons';
import type { IHostServices } from './hostServices';
import { useTrans } from '../shared/translation';

interface IRunActions {
  run: RunView;
  model: INotebookExplorations;
  requests: IControlRequests;
  host: IHostServices;
}

export function RunActions(props: IRunActions): React.JSX.Element {
  const trans = useTrans();
  const { run, model, host } = props;
  const controllable = acceptsControls(model);
  return (
    <div
      className="jp-Explora-buttons"
      role="group"
      aria-label={trans.__('This run')}
    >
      {controllable && canStop(run) && <StopButton {...props} />}
      {controllable && canExploreNow(run) && <ExploreButton {...props} />}
      {run.patch ? (
        <PatchButton {...props} />
      ) : (
        run.code !== null && <SolutionButton {...props} />
      )}
      {controllable && isFinished(run) && run.trace && (
        <ExportButton {...props} />
      )}
      {run.trace_link && (
        <button
          type="button"
          className="jp-Explora-button"
          title={run.trace}
          onClick={() => host.open(run.trace_link)}
        >
          {trans.__('Open trace')}
        </button>
      )}
      {isFinished(run) && model.isOwned(run.key) && model.hasCells(run.key) && (
        <RemoveButton {...props} />
      )}
    </div>
  );
}

/** A button that sends one control and shows while it is pending. */
function RequestButton(props: {
  requests: IControlRequests;
  control: Control;
  label: string;
  pending: string;
  title: string;
  className?: string;
  send: () => Promise<Done>;
}): React.JSX.Element {
  const { requests, control, className } = props;
  const pending = requests.isPending(control);
  return (
    <ActionButton
      pending={pending}
      className={className}
      title={props.title}
      onClick={() => requests.send(control, props.send())}
    >
      {pending ? props.pending : props.label}
    </ActionButton>
  );
}

function StopButton({ run, model, requests }: IRunActions): React.JSX.Element {
  const trans = useTrans();
  return (
    <RequestButton
      requests={requests}
      control="stop"
      label={trans.__('Stop')}
      pending={trans.__('Stopping…')}
      title={trans.__('Finish now and keep the results so far')}
      className="jp-mod-warn"
      send={() => model.stop(run.key)}
    />
  );
}

function ExploreButton({
  run,
  model,
  requests
}: IRunActions): React.JSX.Element {
  const trans = useTrans();
  return (
    <RequestButton
      requests={requests}
      control="explore"
      label={trans.__('Explore step by step')}
      pending={trans.__('Planning…')}
      title={trans.__(
        'Plan and explore the task now, instead of trying a whole program first'
      )}
      send={() => model.explore(run.key)}
    />
  );
}

/** Goes to the solution, or inserts it where it is not in the notebook. */
function SolutionButton(props: IRunActions): React.JSX.Element {
  const trans = useTrans();
  const { run, model, requests } = props;
  const stopped = run.status === 'stopped';
  const there = model.hasSolution(run.key);
  const show = () => {
    if (there && model.reveal(run.key, { solution: true }, true)) {
      return requests.showReply(null);
    }
    const how = model.insertSolution(run.key);
    if (there && how === 'there') {
      return requests.showReply(null);
    }
    return requests.showReply({
      problem:
        how === 'nothing'
          ? trans.__('The solution could not be inserted.')
          : '',
      said: how === 'nothing' ? '' : insertedMessage(how, stopped, trans),
      link: ''
    });
  };
  return (
    <button
      type="button"
      className={`jp-Explora-button${stopped ? '' : ' jp-mod-primary'}`}
      onClick={show}
    >
      {there ? goLabel(stopped, trans) : insertLabel(stopped, trans)}
    </button>
  );
}

function PatchButton({ run, model, requests }: IRunActions): React.JSX.Element {
  const trans = useTrans();
  const applied = run.patch === 'applied';
  return (
    <RequestButton
      requests={requests}
      control="change"
      label={applied ? trans.__('Undo patch') : trans.__('Apply patch')}
      pending={applied ? trans.__('Undoing…') : trans.__('Applying…')}
      title={
        applied
          ? trans.__(
              'Take the change back, if the files are as the patch left them'
            )
          : trans.__(
              'Write the change into the repository, if its files are as they were'
            )
      }
      className={applied ? undefined : 'jp-mod-primary'}
      send={() => model.changeRepository(run.key, applied ? 'undo' : 'apply')}
    />
  );
}

function ExportButton({
  run,
  model,
  requests
}: IRunActions): React.JSX.Element {
  const trans = useTrans();
  return (
    <RequestButton
      requests={requests}
      control="export"
      label={trans.__('Export')}
      pending={trans.__('Exporting…')}
      title={trans.__(
        'Write a notebook without the candidates that were not selected'
      )}
      send={() => model.exportTrace(run.key)}
    />
  );
}

/** Removes the run's cells. If it has a solution, asks first whether to keep it. */
function RemoveButton(props: IRunActions): React.JSX.Element {
  const trans = useTrans();
  const { run, model, requests, host } = props;
  const [open, setOpen] = React.useState(false);
  const remove = (keepSolution: boolean) => {
    setOpen(false);
    const stopped = !isFinished(run);
    const gone = model.remove(run.key, { keepSolution });
    // The focused element and the visible cells may be gone: go to the calling cell.
    if (!model.reveal(run.key, {}, true)) {
      host.focusNotebook();
    }
    requests.showReply({
      problem: gone
        ? ''
        : trans.__('There are no cells of this run in the notebook.'),
      said: gone ? removedMessage(gone, stopped, trans) : '',
      link: ''
    });
  };
  return (
    <>
      <button
        type="button"
        className="jp-Explora-button"
        title={trans.__('Remove the cells of this run from the notebook')}
        aria-expanded={run.code === null ? undefined : open}
        onClick={() => (run.code === null ? remove(false) : setOpen(!open))}
      >
        {run.code === null
          ? trans.__('Remove exploration')
          : trans.__('Remove exploration…')}
      </button>
      {open && run.code !== null && (
        <RemoveForm onRemove={remove} onClose={() => setOpen(false)} />
      )}
    </>
  );
}

function RemoveForm(props: {
  onRemove: (keepSolution: boolean) => void;
  onClose: () => void;
}): React.JSX.Element {
  const trans = useTrans();
  const [keep, setKeep] = React.useState(true);
  const id = React.useId();
  return (
    <form
      className="jp-Explora-form"
      onSubmit={event => {
        event.preventDefault();
        props.onRemove(keep);
      }}
      onKeyDown={event => event.key === 'Escape' && props.onClose()}
    >
      <div className="jp-Explora-check">
        <input
          id={id}
          type="checkbox"
          checked={keep}
          onChange={event => setKeep(event.target.checked)}
        />
        <label htmlFor={id}>{keepSolutionLabel(trans)}</label>
      </div>
      <FormButtons submit={trans.__('Remove')} onCancel={props.onClose} />
    </form>
  );
}

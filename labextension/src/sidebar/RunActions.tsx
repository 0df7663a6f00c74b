/**
 * What can be done with the whole run.
 */
import * as React from 'react';

import { isFinal } from '../link/runStatus';
import type { Control, IExplorationModel } from '../link/tokens';
import type { Done, RunView } from '../messages';
import { canStop, reachable } from './controlAvailability';
import { ActionButton } from './ActionButton';
import type { IAsks } from './controlRequests';
import {
  insertedWords,
  insertWords,
  keepWords,
  removedWords
} from '../live/userMessages';
import { FormButtons } from './FormButtons';
import type { IDesk } from './sidebarContext';
import { useTrans } from './sidebarContext';

interface IRunActions {
  run: RunView;
  model: IExplorationModel;
  asks: IAsks;
  desk: IDesk;
}

export function RunActions(props: IRunActions): React.JSX.Element {
  const trans = useTrans();
  const { run, model, desk } = props;
  const heard = reachable(model);
  return (
    <div
      className="jp-Explora-buttons"
      role="group"
      aria-label={trans.__('This run')}
    >
      {heard && canStop(run) && <StopButton {...props} />}
      {run.code !== null && <InsertButton {...props} />}
      {heard && isFinal(run) && run.trace && <ExportButton {...props} />}
      {run.trace_link && (
        <button
          type="button"
          className="jp-Explora-button"
          title={run.trace}
          onClick={() => desk.open(run.trace_link)}
        >
          {trans.__('Open trace')}
        </button>
      )}
      {isFinal(run) && model.owned(run.key) && model.hasCells(run.key) && (
        <RemoveButton {...props} />
      )}
    </div>
  );
}

/** Asks for one thing, and shows that it was asked for. */
function AskButton(props: {
  asks: IAsks;
  control: Control;
  label: string;
  pending: string;
  title: string;
  className?: string;
  send: () => Promise<Done>;
}): React.JSX.Element {
  const { asks, control, className } = props;
  const pending = asks.pending(control);
  return (
    <ActionButton
      pending={pending}
      className={className}
      title={props.title}
      onClick={() => asks.ask(control, props.send())}
    >
      {pending ? props.pending : props.label}
    </ActionButton>
  );
}

function StopButton({ run, model, asks }: IRunActions): React.JSX.Element {
  const trans = useTrans();
  return (
    <AskButton
      asks={asks}
      control="stop"
      label={trans.__('Stop')}
      pending={trans.__('Stopping…')}
      title={trans.__('Finish now and keep what was learned')}
      className="jp-mod-warn"
      send={() => model.stop(run.key)}
    />
  );
}

function InsertButton(props: IRunActions): React.JSX.Element {
  const trans = useTrans();
  const { run, model, asks } = props;
  const stopped = run.status === 'stopped';
  const insert = () => {
    const how = model.insertSolution(run.key);
    asks.say({
      problem: how === 'nothing' ? trans.__('It could not be inserted.') : '',
      said: how === 'nothing' ? '' : insertedWords(how, stopped, trans),
      link: ''
    });
  };
  return (
    <button
      type="button"
      className={`jp-Explora-button${stopped ? '' : ' jp-mod-primary'}`}
      onClick={insert}
    >
      {insertWords(stopped, trans)}
    </button>
  );
}

function ExportButton({ run, model, asks }: IRunActions): React.JSX.Element {
  const trans = useTrans();
  return (
    <AskButton
      asks={asks}
      control="export"
      label={trans.__('Export')}
      pending={trans.__('Exporting…')}
      title={trans.__('Write a notebook without the candidates that lost')}
      send={() => model.exportTrace(run.key)}
    />
  );
}

/** Removes at once; asks first only whether the solution should stay, where there is one. */
function RemoveButton(props: IRunActions): React.JSX.Element {
  const trans = useTrans();
  const { run, model, asks, desk } = props;
  const [open, setOpen] = React.useState(false);
  const remove = (keepSolution: boolean) => {
    setOpen(false);
    const stopped = !isFinal(run);
    const gone = model.remove(run.key, { keepSolution });
    // What was in sight may be gone, the button too: go to where it belonged.
    if (!model.reveal(run.key, {}, true)) {
      desk.focusNotebook();
    }
    asks.say({
      problem: gone
        ? ''
        : trans.__('There are no cells of this run in the notebook.'),
      said: gone ? removedWords(gone, stopped, trans) : '',
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
        <label htmlFor={id}>{keepWords(trans)}</label>
      </div>
      <FormButtons submit={trans.__('Remove')} onCancel={props.onClose} />
    </form>
  );
}

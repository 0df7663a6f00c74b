/**
 * The actions for the active subtask or candidate.
 */
import * as React from 'react';

import { canCompare } from '../board/resultGroups';
import { isFinished } from '../link/runStatus';
import type { INotebookExplorations } from '../link/explorationInterface';
import type { RunView, SubtaskView } from '../messages';
import {
  canChoose,
  canRetry,
  canSkip,
  acceptsControls
} from '../link/controlAvailability';
import { ActionButton } from './ActionButton';
import type { IControlRequests } from './controlRequests';
import type { IHostServices } from './hostServices';
import { useTrans } from '../shared/translation';
import type { Item } from './planItems';
import { ReplaceForm, RetryForm } from './RetryForm';

export interface IItemActions {
  run: RunView;
  model: INotebookExplorations;
  requests: IControlRequests;
  host: IHostServices;
  item: Item;
  /** Returns the focus to the item. */
  back: () => void;
}

export function ItemActions(props: IItemActions): React.JSX.Element | null {
  const { item, model, run } = props;
  // An ended run is continued by running its calling cell, which must be here.
  const controllable =
    acceptsControls(model) && (!isFinished(run) || model.isHere(run.key));
  switch (item.kind) {
    case 'subtask':
      return (
        <SubtaskActions
          {...props}
          subtask={item.subtask}
          controllable={controllable}
        />
      );
    case 'candidate':
      return controllable && canChoose(run, item.subtask, item.candidate) ? (
        <ChooseAction {...props} candidate={item.candidate.id} />
      ) : null;
    case 'apis':
    case 'api':
    case 'more':
      return null;
  }
}

function SubtaskActions(
  props: IItemActions & { subtask: SubtaskView; controllable: boolean }
): React.JSX.Element | null {
  const trans = useTrans();
  const { run, model, requests, host, subtask, controllable, back } = props;
  const [hinting, setHinting] = React.useState(false);
  const skipping = requests.isPending('skip', subtask.id);
  const retrying = requests.isPending('retry', subtask.id);
  const skippable = controllable && canSkip(run, subtask);
  const retryable = controllable && canRetry(run, subtask);
  const comparable = canCompare(subtask);
  if (!skippable && !retryable && !comparable) {
    return null;
  }
  const close = () => {
    setHinting(false);
    back();
  };
  const retry = (hint: string) => {
    requests.send('retry', model.retry(run.key, subtask.id, hint), subtask.id);
    close();
  };
  const skip = () =>
    requests.send('skip', model.skip(run.key, subtask.id), subtask.id);
  if (hinting) {
    return (
      <RetryForm replaces={isFinished(run)} onSend={retry} onClose={close} />
    );
  }
  return (
    <div className="jp-Explora-buttons">
      {skippable && (
        <ActionButton pending={skipping} onClick={skip}>
          {skipping ? trans.__('Skipping…') : trans.__('Skip subtask')}
        </ActionButton>
      )}
      {(skippable || retryable) && (
        <ActionButton pending={retrying} onClick={() => setHinting(true)}>
          {retrying ? trans.__('Retrying…') : trans.__('Retry with a hint…')}
        </ActionButton>
      )}
      {comparable && (
        <ActionButton
          pending={false}
          title={trans.__('Compare the candidates side by side')}
          onClick={() => host.compare(run.key, subtask.id)}
        >
          {trans.__('Compare')}
        </ActionButton>
      )}
    </div>
  );
}

function ChooseAction(
  props: IItemActions & { candidate: string }
): React.JSX.Element {
  const trans = useTrans();
  const { run, model, requests, candidate, back } = props;
  const [asking, setAsking] = React.useState(false);
  const choosing = requests.isPending('choose', candidate);
  const choose = () =>
    requests.send('choose', model.choose(run.key, candidate), candidate);
  const close = () => {
    setAsking(false);
    back();
  };
  if (asking) {
    const agree = () => {
      choose();
      close();
    };
    return <ReplaceForm onAgree={agree} onClose={close} />;
  }
  return (
    <div className="jp-Explora-buttons">
      <ActionButton
        pending={choosing}
        title={trans.__('Later subtasks are explored again')}
        onClick={() => (isFinished(run) ? setAsking(true) : choose())}
      >
        {choosing
          ? trans.__('Changing…')
          : isFinished(run)
            ? trans.__('Use this one instead…')
            : trans.__('Use this one instead')}
      </ActionButton>
    </div>
  );
}

/**
 * The plan editor: for the whole plan before the run begins, or for the steps that have not started while it runs.
 */
import * as React from 'react';

import type { RunView } from '../messages';
import { ActionButton } from './ActionButton';
import type { DraftEdit, IPlanDraft, IDraftStep } from './planDraft';
import { createDraft, reduceDraft, draftTitles } from './planDraft';
import { useTrans } from '../shared/translation';

/** The control of a step to focus after rendering. */
interface IFocus {
  key: number;
  on: 'title' | 'up' | 'down';
}

export function PlanEditor(props: {
  run: RunView;
  pending: boolean;
  onSend: (titles: string[]) => void;
  /** Not given in a review, which cannot be cancelled. */
  onClose?: () => void;
}): React.JSX.Element {
  const trans = useTrans();
  const { run, pending, onClose } = props;
  const [draft, dispatch] = React.useReducer(
    reduceDraft,
    run.subtasks,
    createDraft
  );
  // The editor takes the focus when the user opens it. A review appears by itself and takes no focus.
  const [focus, setFocus] = React.useState<IFocus | null>(
    onClose ? { key: 0, on: 'title' } : null
  );
  const heading = React.useId();
  React.useEffect(
    () => dispatch({ type: 'begin', subtasks: run.subtasks }),
    [run.subtasks]
  );
  const edit = (change: DraftEdit, then: IFocus | null) => {
    dispatch(change);
    setFocus(then);
  };
  const sent = draftTitles(draft);
  const send = (event: React.FormEvent) => {
    event.preventDefault();
    if (!pending && sent.length) {
      props.onSend(sent);
    }
  };
  return (
    <form
      className="jp-Explora-editor"
      aria-labelledby={heading}
      onSubmit={send}
      onKeyDown={event => event.key === 'Escape' && onClose?.()}
    >
      <h3 id={heading}>
        {onClose ? trans.__('Edit the remaining steps') : trans.__('Review')}
      </h3>
      <p className="jp-Explora-note">
        {onClose
          ? trans.__('Steps that have started cannot be changed.')
          : trans.__(
              'Review the plan and edit it as needed. Nothing runs until you begin.'
            )}
      </p>
      <StartedNote draft={draft} />
      <ol className="jp-Explora-steps">
        {draft.steps.map((step, index) => (
          <StepRow
            key={step.key}
            step={step}
            number={index + 1}
            last={index === draft.steps.length - 1}
            focus={focus?.key === step.key ? focus.on : null}
            onEdit={edit}
            next={draft.next}
            after={draft.steps[index + 1]?.key ?? draft.steps[index - 1]?.key}
          />
        ))}
      </ol>
      <div className="jp-Explora-buttons">
        <button
          type="button"
          className="jp-Explora-button"
          onClick={() =>
            edit({ type: 'add' }, { key: draft.next, on: 'title' })
          }
        >
          {trans.__('Add a step')}
        </button>
        <ActionButton
          type="submit"
          className="jp-mod-primary"
          pending={pending || sent.length === 0}
        >
          {onClose
            ? pending
              ? trans.__('Applying…')
              : trans.__('Apply')
            : pending
              ? trans.__('Beginning…')
              : trans.__('Begin')}
        </ActionButton>
        {onClose && (
          <button type="button" className="jp-Explora-button" onClick={onClose}>
            {trans.__('Cancel')}
          </button>
        )}
      </div>
    </form>
  );
}

/** Reports steps that were removed from the editor because they have started. */
function StartedNote(props: { draft: IPlanDraft }): React.JSX.Element | null {
  const trans = useTrans();
  const { started } = props.draft;
  return started ? (
    <p className="jp-Explora-note" role="status">
      {trans._n(
        '%1 step has started in the meantime and is not shown here.',
        '%1 steps have started in the meantime and are not shown here.',
        started
      )}
    </p>
  ) : null;
}

/**
 * The number of rows for a title in a narrow sidebar, for browsers where styles cannot size the field by its content.
 */
function rowsForTitle(title: string): number {
  return Math.min(8, Math.max(2, Math.ceil(title.length / 28)));
}

function StepRow(props: {
  step: IDraftStep;
  number: number;
  last: boolean;
  focus: IFocus['on'] | null;
  onEdit: (edit: DraftEdit, then: IFocus | null) => void;
  /** The key that a new step would get. */
  next: number;
  /** The step that gets the focus when this one is removed. */
  after: number | undefined;
}): React.JSX.Element {
  const trans = useTrans();
  const { step, number, onEdit, after } = props;
  const item = React.useRef<HTMLLIElement>(null);
  const { focus } = props;
  React.useEffect(() => {
    if (focus) {
      item.current?.querySelector<HTMLElement>(`[data-on=${focus}]`)?.focus();
    }
  }, [focus, number]);
  const move = (by: -1 | 1, on: IFocus['on']) =>
    onEdit({ type: 'move', key: step.key, by }, { key: step.key, on });
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key === 'Enter') {
      event.preventDefault();
      onEdit(
        { type: 'add', after: step.key },
        { key: props.next, on: 'title' }
      );
    } else if (event.altKey && event.key === 'ArrowUp') {
      event.preventDefault();
      move(-1, 'title');
    } else if (event.altKey && event.key === 'ArrowDown') {
      event.preventDefault();
      move(1, 'title');
    }
  };
  return (
    <li ref={item} className="jp-Explora-step">
      <textarea
        data-on="title"
        className="jp-Explora-input"
        aria-label={trans.__('Step %1', number)}
        rows={rowsForTitle(step.title)}
        value={step.title}
        onKeyDown={onKeyDown}
        onChange={event =>
          onEdit(
            { type: 'retitle', key: step.key, title: event.target.value },
            null
          )
        }
      />
      <div className="jp-Explora-stepButtons">
        <button
          type="button"
          data-on="up"
          className="jp-Explora-button jp-mod-small"
          aria-label={trans.__('Move step %1 up', number)}
          title={trans.__('Move up (Alt+Up)')}
          disabled={number === 1}
          onClick={() => move(-1, number === 2 ? 'down' : 'up')}
        >
          ↑
        </button>
        <button
          type="button"
          data-on="down"
          className="jp-Explora-button jp-mod-small"
          aria-label={trans.__('Move step %1 down', number)}
          title={trans.__('Move down (Alt+Down)')}
          disabled={props.last}
          onClick={() => move(1, 'down')}
        >
          ↓
        </button>
        <button
          type="button"
          className="jp-Explora-button jp-mod-small"
          aria-label={trans.__('Remove step %1', number)}
          title={trans.__('Remove')}
          onClick={() =>
            onEdit(
              { type: 'remove', key: step.key },
              after === undefined ? null : { key: after, on: 'title' }
            )
          }
        >
          ✕
        </button>
      </div>
    </li>
  );
}

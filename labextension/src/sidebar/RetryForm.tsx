/**
 * Forms to retry a subtask with an optional hint for the model, or to confirm that an ended run is replaced. Enter
 * submits, Escape closes.
 */
import * as React from 'react';

import { replacementWarning } from '../shared/sharedWording';
import { FormButtons } from './FormButtons';
import { useTrans } from '../shared/translation';

export function RetryForm(props: {
  /** Whether the run has ended, so that its cells are replaced. */
  replaces: boolean;
  onSend: (hint: string) => void;
  onClose: () => void;
}): React.JSX.Element {
  const trans = useTrans();
  const [hint, setHint] = React.useState('');
  const id = React.useId();
  const field = React.useRef<HTMLInputElement>(null);
  React.useEffect(() => field.current?.focus(), []);
  const send = (event: React.FormEvent) => {
    event.preventDefault();
    props.onSend(hint.trim());
  };
  return (
    <InPlaceForm onSubmit={send} onClose={props.onClose}>
      <label htmlFor={id}>{trans.__('Hint for the model (optional)')}</label>
      <input
        id={id}
        ref={field}
        className="jp-Explora-input"
        value={hint}
        onChange={event => setHint(event.target.value)}
        placeholder={trans.__('What should it try?')}
      />
      {props.replaces && (
        <p className="jp-Explora-note">{replacementWarning(trans)}</p>
      )}
      <FormButtons submit={trans.__('Retry')} onCancel={props.onClose} />
    </InPlaceForm>
  );
}

/** Confirms that the cells of an ended run are replaced. */
export function ReplaceForm(props: {
  onAgree: () => void;
  onClose: () => void;
}): React.JSX.Element {
  const trans = useTrans();
  const form = React.useRef<HTMLDivElement>(null);
  React.useEffect(() => form.current?.querySelector('button')?.focus(), []);
  const agree = (event: React.FormEvent) => {
    event.preventDefault();
    props.onAgree();
  };
  return (
    <div ref={form}>
      <InPlaceForm onSubmit={agree} onClose={props.onClose}>
        <p className="jp-Explora-note">{replacementWarning(trans)}</p>
        <FormButtons
          submit={trans.__('Explore again')}
          onCancel={props.onClose}
        />
      </InPlaceForm>
    </div>
  );
}

/** A form in a row of the tree. Its key and click events do not reach the row. */
function InPlaceForm(props: {
  onSubmit: (event: React.FormEvent) => void;
  onClose: () => void;
  children: React.ReactNode;
}): React.JSX.Element {
  const close = (event: React.KeyboardEvent) => {
    event.stopPropagation();
    if (event.key === 'Escape') {
      props.onClose();
    }
  };
  return (
    <form
      className="jp-Explora-form"
      onSubmit={props.onSubmit}
      onKeyDown={close}
      onClick={event => event.stopPropagation()}
    >
      {props.children}
    </form>
  );
}

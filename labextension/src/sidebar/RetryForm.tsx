/**
 * Retry a subtask, with a hint for the model if the user has one. Enter sends, Escape closes.
 */
import * as React from 'react';

import { FormButtons } from './FormButtons';
import { useTrans } from './host';

export function RetryForm(props: {
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
  const close = (event: React.KeyboardEvent) => {
    event.stopPropagation();
    if (event.key === 'Escape') {
      props.onClose();
    }
  };
  return (
    <form
      className="jp-Explora-form"
      onSubmit={send}
      onKeyDown={close}
      onClick={event => event.stopPropagation()}
    >
      <label htmlFor={id}>{trans.__('Hint for the model (optional)')}</label>
      <input
        id={id}
        ref={field}
        className="jp-Explora-input"
        value={hint}
        onChange={event => setHint(event.target.value)}
        placeholder={trans.__('What should it try?')}
      />
      <FormButtons submit={trans.__('Retry')} onCancel={props.onClose} />
    </form>
  );
}

/** The key of the endpoint: it can be set and removed, and is never shown. */
import * as React from 'react';

import { Field, noteId } from '../shared/Field';
import type { SettingsView } from '../messages';
import { useTrans } from '../shared/translation';

export function KeyField(props: {
  view: SettingsView;
  value: string;
  /** Whether the address was changed and no key entered, so that the stored key would be sent to the new address. */
  moved: boolean;
  onChange: (value: string) => void;
  onRemove: () => void;
}): React.JSX.Element {
  const trans = useTrans();
  const { view, value } = props;
  const id = React.useId();
  const where: Record<typeof view.key, string> = {
    none: trans.__('No key is set. Models on this machine need none.'),
    file: trans.__('A key is set in the config file.'),
    environment: trans.__(
      'A key is set by the environment variable %1, which takes precedence.',
      view.key_variable
    )
  };
  const sent =
    props.moved && view.key !== 'none'
      ? trans.__('It will be sent to the new address.')
      : '';
  const problem = view.problems.key;
  const note = `${where[view.key]} ${sent}`.trim();
  return (
    <Field id={id} label={trans.__('Key')} problem={problem} note={note}>
      <div className="jp-Explora-fieldRow">
        <input
          id={id}
          className="jp-Explora-input"
          type="password"
          autoComplete="new-password"
          value={value}
          placeholder={
            view.key === 'none' ? trans.__('Not set') : trans.__('Set')
          }
          aria-describedby={noteId(id, problem ?? note)}
          onChange={event => props.onChange(event.target.value)}
        />
        {view.key === 'file' && (
          <button
            type="button"
            className="jp-Explora-link"
            onClick={props.onRemove}
          >
            {trans.__('Remove the key')}
          </button>
        )}
      </div>
    </Field>
  );
}

/** The endpoint: chosen from those found on this machine and well-known ones, or entered. */
import * as React from 'react';

import { Field, noteId } from '../shared/Field';
import type { FoundModels } from '../messages';
import { useTrans } from '../shared/translation';
import { LOCAL, REMOTE } from './providers';

const OTHER = 'other';
const EXAMPLE_ADDRESS = 'http://localhost:8000/v1';

export function ProviderField(props: {
  value: string;
  placeholder: string;
  /** Whether the user has chosen to enter an address that is not listed. */
  other: boolean;
  problem?: string;
  found: FoundModels | null;
  onChange: (value: string, other: boolean) => void;
}): React.JSX.Element {
  const trans = useTrans();
  const { value, found, other } = props;
  const id = React.useId();
  const known = [...LOCAL, ...REMOTE].some(({ address }) => address === value);
  const answers = (address: string) =>
    found?.endpoints.find(({ base_url }) => base_url === address)?.models
      .length ?? 0;
  const note = other
    ? ''
    : trans.__('Empty for the built-in model, which is offline.');
  return (
    <>
      <Field id={id} label={trans.__('Provider')}>
        <select
          id={id}
          className="jp-Explora-select"
          value={known || (!value && !other) ? value : OTHER}
          onChange={({ target }) =>
            target.value === OTHER
              ? props.onChange('', true)
              : props.onChange(target.value, false)
          }
        >
          <option value="">{trans.__('Not set')}</option>
          <optgroup label={trans.__('On this machine')}>
            {LOCAL.map(({ name, address }) => (
              <option key={address} value={address}>
                {answers(address)
                  ? trans._n(
                      '%2 (%1 model)',
                      '%2 (%1 models)',
                      answers(address),
                      name
                    )
                  : name}
              </option>
            ))}
          </optgroup>
          <optgroup label={trans.__('Elsewhere')}>
            {REMOTE.map(({ name, address }) => (
              <option key={address} value={address}>
                {name}
              </option>
            ))}
          </optgroup>
          <option value={OTHER}>{trans.__('Another address')}</option>
        </select>
      </Field>
      <Field
        id={`${id}-address`}
        label={trans.__('Address')}
        problem={props.problem}
        note={note}
      >
        <input
          id={`${id}-address`}
          className="jp-Explora-input"
          spellCheck={false}
          value={value}
          placeholder={other ? EXAMPLE_ADDRESS : props.placeholder}
          aria-invalid={props.problem ? true : undefined}
          aria-describedby={noteId(`${id}-address`, props.problem ?? note)}
          onChange={event => props.onChange(event.target.value, other)}
        />
      </Field>
    </>
  );
}

/** One setting: a choice, a number or a text. */
import * as React from 'react';

import type { TranslationBundle } from '@jupyterlab/translation';

import { effortLabels } from '../newExploration/effortLabels';
import { Field, noteId } from '../shared/Field';
import type { SettingView } from '../messages';
import { useTrans } from '../shared/translation';

const EFFORT = 'exploration.effort';

export function SettingField(props: {
  setting: SettingView;
  value: string;
  problem?: string;
  onChange: (value: string) => void;
}): React.JSX.Element {
  const trans = useTrans();
  const { setting, value, problem } = props;
  const id = React.useId();
  const note = noteOf(setting, trans);
  const described = {
    'aria-invalid': problem ? true : undefined,
    'aria-describedby': noteId(id, problem ?? note)
  };
  return (
    <Field
      id={id}
      label={labelOf(setting.name, trans)}
      problem={problem}
      note={note}
    >
      {setting.kind === 'choice' ? (
        <select
          id={id}
          className="jp-Explora-select"
          value={value === setting.default ? '' : value}
          {...described}
          onChange={event => props.onChange(event.target.value)}
        >
          {!setting.choices.includes(setting.default) && (
            <option value="">{trans.__('Default')}</option>
          )}
          {setting.choices.map(choice => (
            <ChoiceOption key={choice} setting={setting} choice={choice} />
          ))}
        </select>
      ) : (
        <input
          id={id}
          className="jp-Explora-input"
          inputMode={setting.kind === 'text' ? 'text' : 'decimal'}
          value={value}
          placeholder={setting.default}
          {...described}
          onChange={event => props.onChange(event.target.value)}
        />
      )}
    </Field>
  );
}

/** A choice. That of the default leaves the setting unset. */
function ChoiceOption(props: {
  setting: SettingView;
  choice: string;
}): React.JSX.Element {
  const trans = useTrans();
  const { setting, choice } = props;
  const label = choiceLabel(setting.name, choice, trans);
  return choice === setting.default ? (
    <option value="">{trans.__('%1 (default)', label)}</option>
  ) : (
    <option value={choice}>{label}</option>
  );
}

/** The label of a choice; efforts have the labels of the form for a new exploration. */
function choiceLabel(
  name: string,
  choice: string,
  trans: TranslationBundle
): string {
  const labels: Record<string, string> =
    name === EFFORT ? effortLabels(trans) : {};
  return labels[choice] ?? choice;
}

function noteOf(setting: SettingView, trans: TranslationBundle): string {
  const { meaning, overridden } = setting;
  const sentence =
    setting.name === EFFORT
      ? trans.__(
          'Automatic tries a whole program first, and explores step by step where that does not convince.'
        )
      : `${meaning.charAt(0).toUpperCase()}${meaning.slice(1)}.`;
  return overridden
    ? `${sentence} ${trans.__('In this kernel %config sets it to %1.', overridden)}`
    : sentence;
}

/** The label of a setting; its name if the kernel is newer than the page. */
function labelOf(name: string, trans: TranslationBundle): string {
  const labels: Record<string, string> = {
    [EFFORT]: trans.__('Effort'),
    'exploration.candidates': trans.__('Candidates per subtask'),
    'budget.tokens': trans.__('Budget in tokens'),
    'budget.cost': trans.__('Budget in money'),
    'endpoint.share': trans.__('Shared with the model')
  };
  return labels[name] ?? name;
}

/**
 * The form for the settings. Only what the user has changed is sent. A key is sent to the kernel when it is saved or
 * tested; it is never read back, and the page does not store it.
 */
import * as React from 'react';

import { Combobox } from '../newExploration/Combobox';
import { Field, noteId } from '../shared/Field';
import type { FoundModels, SettingsView } from '../messages';
import { ActionButton } from '../sidebar/ActionButton';
import { useTrans } from '../shared/translation';
import { KeyField } from './KeyField';
import { ProviderField } from './ProviderField';
import type { SettingsClient } from './settingsClient';
import { SettingField } from './SettingField';

const ADDRESS = 'endpoint.base_url';
const MODEL = 'endpoint.model';
const MAX_MODELS = 12;

interface IOutcome {
  /** The action, below whose button the outcome is shown. */
  of: 'save' | 'test';
  text: string;
  problem: boolean;
}

export function SettingsForm(props: {
  client: SettingsClient;
  view: SettingsView;
  onClose: () => void;
}): React.JSX.Element {
  const trans = useTrans();
  const { client } = props;
  const [view, setView] = React.useState(props.view);
  const [changed, setChanged] = React.useState<Record<string, string>>({});
  const [key, setKey] = React.useState('');
  const [other, setOther] = React.useState(false);
  const [addressProblem, setAddressProblem] = React.useState('');
  const [outcome, setOutcome] = React.useState<IOutcome | null>(null);
  const [busy, setBusy] = React.useState<'save' | 'test' | null>(null);
  const form = React.useRef<HTMLFormElement>(null);
  React.useEffect(() => form.current?.querySelector('select')?.focus(), []);

  const saved = Object.fromEntries(
    view.settings.map(({ name, value }) => [name, value])
  );
  const valueOf = (name: string) => changed[name] ?? saved[name] ?? '';
  const found = useFoundModels(client);
  const set = (name: string, value: string) => {
    setChanged({ ...changed, [name]: value });
    setOutcome(null);
  };

  const setAddress = (address: string, isOther: boolean) => {
    setOther(isOther);
    setAddressProblem('');
    set(ADDRESS, address);
  };
  /** Whether another address was announced and not entered, which is shown. */
  const isAddressMissing = () => {
    const missing = other && !valueOf(ADDRESS).trim();
    setAddressProblem(
      missing ? trans.__('Enter the address of the endpoint.') : ''
    );
    return missing;
  };

  const save = async (newKey: string | null) => {
    const say = (text: string, problem = false) =>
      setOutcome({ of: 'save', text, problem });
    if (isAddressMissing()) {
      return;
    }
    setBusy('save');
    const values = Object.fromEntries(
      Object.entries(changed).filter(([name, value]) => value !== saved[name])
    );
    const answer = await client.save({ values, key: newKey });
    setBusy(null);
    if ('failure' in answer) {
      return say(trans.__('The kernel did not answer.'), true);
    }
    setView(answer);
    const rejected = Object.keys(answer.problems).length > 0;
    if (rejected || answer.problem) {
      return say(answer.problem || trans.__('Nothing was saved.'), true);
    }
    setChanged({});
    setKey('');
    return say(trans.__('Saved in %1.', answer.path));
  };
  const test = async () => {
    const say = (text: string, problem = false) =>
      setOutcome({ of: 'test', text, problem });
    if (isAddressMissing()) {
      return;
    }
    const model = valueOf(MODEL).trim() || defaultOf(view, MODEL);
    if (!model) {
      return say(trans.__('Name a model first.'), true);
    }
    setBusy('test');
    setOutcome(null);
    const address = valueOf(ADDRESS).trim();
    // A masked address is not the real one, which the configuration has.
    const named = address.includes('***') ? '' : address;
    const answer = await client.tryModel(named, model, key);
    setBusy(null);
    if ('failure' in answer) {
      return say(trans.__('The kernel did not answer.'), true);
    }
    return answer.problem
      ? say(answer.problem, true)
      : say(trans.__('%1 answered in %2 s.', model, answer.seconds.toFixed(1)));
  };
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    if (!busy) {
      void save(key || null);
    }
  };
  const models = modelsAt(found.answer, valueOf(ADDRESS));
  const others = view.settings.filter(
    ({ name }) => name !== ADDRESS && name !== MODEL
  );
  return (
    <form
      ref={form}
      className="jp-Explora-fieldForm"
      aria-label={trans.__('Settings')}
      autoComplete="off"
      onSubmit={submit}
      noValidate
    >
      {view.problem && <p className="jp-Explora-problem">{view.problem}</p>}
      <ProviderField
        value={valueOf(ADDRESS)}
        placeholder={defaultOf(view, ADDRESS)}
        other={other}
        problem={addressProblem || view.problems[ADDRESS]}
        found={found.answer}
        onChange={setAddress}
      />
      <ModelField
        value={valueOf(MODEL)}
        placeholder={
          defaultOf(view, MODEL) || trans.__('Built-in offline model')
        }
        models={models}
        status={found.statusOf(valueOf(ADDRESS))}
        onChange={value => set(MODEL, value)}
        onFocus={() => found.look(valueOf(ADDRESS), key)}
      />
      <KeyField
        view={view}
        value={key}
        moved={
          key === '' &&
          ADDRESS in changed &&
          valueOf(ADDRESS) !== saved[ADDRESS]
        }
        onChange={setKey}
        onRemove={() => void save('')}
      />
      <div className="jp-Explora-buttons">
        <ActionButton pending={busy !== null} onClick={() => void test()}>
          {busy === 'test' ? trans.__('Testing…') : trans.__('Test')}
        </ActionButton>
      </div>
      {outcome?.of === 'test' && <Outcome {...outcome} />}
      <h3>{trans.__('Defaults of explorations')}</h3>
      {others.map(setting => (
        <SettingField
          key={setting.name}
          setting={setting}
          value={valueOf(setting.name)}
          problem={view.problems[setting.name]}
          onChange={value => set(setting.name, value)}
        />
      ))}
      <p className="jp-Explora-note">
        {trans.__('These settings are kept in %1.', view.path)}
      </p>
      <div className="jp-Explora-buttons">
        <ActionButton
          type="submit"
          className="jp-mod-primary"
          pending={busy !== null}
        >
          {busy === 'save' ? trans.__('Saving…') : trans.__('Save')}
        </ActionButton>
        <button
          type="button"
          className="jp-Explora-button"
          onClick={props.onClose}
        >
          {trans.__('Close')}
        </button>
      </div>
      {outcome?.of === 'save' && <Outcome {...outcome} />}
    </form>
  );
}

function Outcome({ text, problem }: IOutcome): React.JSX.Element {
  return (
    <p
      role={problem ? 'alert' : 'status'}
      className={problem ? 'jp-Explora-problem' : ''}
    >
      {text}
    </p>
  );
}

function ModelField(props: {
  value: string;
  placeholder: string;
  models: readonly string[];
  status: string;
  onChange: (value: string) => void;
  onFocus: () => void;
}): React.JSX.Element {
  const trans = useTrans();
  const id = React.useId();
  const word = props.value.toLowerCase();
  const matching = props.models.filter(
    name => name !== props.value && name.toLowerCase().includes(word)
  );
  const note = props.models.length
    ? trans._n('%1 model found.', '%1 models found.', props.models.length)
    : props.status;
  return (
    <Field id={id} label={trans.__('Model')} note={note}>
      <Combobox
        id={id}
        value={props.value}
        onChange={props.onChange}
        suggestions={matching.slice(0, MAX_MODELS)}
        accept={name => name}
        listLabel={trans.__('Models')}
        placeholder={props.placeholder}
        describedBy={noteId(id, note)}
        onFocus={props.onFocus}
      />
    </Field>
  );
}

/** The models that are found: at first the configured endpoint's and those on this machine. */
function useFoundModels(client: SettingsClient) {
  const [answer, setAnswer] = React.useState<FoundModels | null>(null);
  const looked = React.useRef(new Set<string>());
  const look = (address: string, key: string) => {
    const wanted = `${address} ${key.length}`;
    if (looked.current.has(wanted) || address.includes('***')) {
      return;
    }
    looked.current.add(wanted);
    void client.findModels(address, key).then(found => {
      if (!('failure' in found)) {
        setAnswer(before => ({
          ...found,
          endpoints: [...found.endpoints, ...(before?.endpoints ?? [])]
        }));
      }
    });
  };
  React.useEffect(() => look('', ''), [client]);
  const statusOf = (address: string) =>
    endpointAt(answer, address)?.status ?? answer?.problem ?? '';
  return { answer, look, statusOf };
}

function endpointAt(found: FoundModels | null, address: string) {
  const same = (url: string) => trim(url) === trim(address);
  return found?.endpoints.find(
    ({ base_url, url }) => address && (same(base_url) || same(url))
  );
}

function modelsAt(found: FoundModels | null, address: string): string[] {
  return endpointAt(found, address)?.models ?? [];
}

function trim(address: string): string {
  return address.trim().replace(/\/+$/, '');
}

function defaultOf(view: SettingsView, name: string): string {
  return view.settings.find(each => each.name === name)?.default ?? '';
}

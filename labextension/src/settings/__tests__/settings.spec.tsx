/** The settings in the sidebar, through their user interface. */
import {
  act,
  cleanup,
  fireEvent,
  render,
  screen
} from '@testing-library/react';
import axe from 'axe-core';
import * as React from 'react';

import type { LinkStatus } from '../../link/explorationInterface';
import type {
  Answer,
  SettingsView,
  SettingView,
  ToKernel
} from '../../messages';
import { FakeFormServices } from '../../sidebar/__tests__/fakeModel';
import { SettingsPage } from '../SettingsPage';

const KEY = 'sk-very-secret';

function setting(name: string, more: Partial<SettingView> = {}): SettingView {
  const row: SettingView = {
    name,
    kind: 'text',
    choices: [],
    meaning: 'what it means',
    value: '',
    default: '',
    overridden: ''
  };
  return { ...row, ...more };
}

function view(change: Partial<SettingsView> = {}): SettingsView {
  return {
    type: 'settings',
    request: 0,
    path: '/home/me/config.toml',
    settings: [
      setting('endpoint.base_url', { value: 'ollama' }),
      setting('endpoint.model', { value: 'qwen3-coder' }),
      setting('budget.tokens', { kind: 'whole', default: '200000' }),
      setting('endpoint.share', {
        kind: 'choice',
        choices: ['values', 'schema', 'none'],
        default: 'values',
        overridden: 'none'
      })
    ],
    key: 'none',
    key_variable: '',
    problem: '',
    problems: {},
    ...change
  };
}

const MODELS: Answer = {
  type: 'found_models',
  request: 0,
  problem: '',
  endpoints: [
    {
      base_url: 'ollama',
      url: 'http://localhost:11434/v1',
      local: true,
      models: ['qwen3-coder', 'llama3'],
      status: 'It answers.'
    }
  ]
};

async function show(
  answers: { settings?: SettingsView; tried?: Partial<Answer> } = {},
  link: LinkStatus = 'ready'
) {
  const forms = new FakeFormServices();
  const sent: ToKernel[] = [];
  forms.kernel = message => {
    sent.push(message);
    const kernel: Partial<Record<ToKernel['type'], Answer>> = {
      read_settings: answers.settings ?? view(),
      save_settings: view(),
      find_models: MODELS,
      try_model: {
        type: 'tried_model',
        request: 0,
        seconds: 1.26,
        problem: '',
        ...answers.tried
      } as Answer
    };
    return Promise.resolve(kernel[message.type]!);
  };
  await act(async () => {
    render(<SettingsPage forms={forms} link={link} />);
  });
  return {
    forms,
    sent,
    of: (type: string) => sent.filter(each => each.type === type)
  };
}

const field = (name: string) =>
  screen.getByLabelText<HTMLInputElement & HTMLSelectElement>(name);
const type = (name: string, value: string) =>
  fireEvent.change(field(name), { target: { value } });
const click = (name: string) =>
  act(async () => {
    fireEvent.click(screen.getByRole('button', { name }));
  });

afterEach(cleanup);

it('shows what is set, defaults, and what takes precedence', async () => {
  await show();
  expect(field('Provider').value).toBe('ollama');
  expect(
    screen.getByRole('option', { name: 'Ollama (2 models)' })
  ).toBeTruthy();
  expect(field('Model').value).toBe('qwen3-coder');
  expect(field('Budget in tokens').placeholder).toBe('200000');
  screen.getByText(/%config sets it to none/);
});

it('saves what was changed, and nothing else', async () => {
  const { of } = await show();
  type('Budget in tokens', '5000');
  type('Model', 'other');
  type('Model', 'qwen3-coder');
  await click('Save');
  expect(of('save_settings')).toEqual([
    { type: 'save_settings', values: { 'budget.tokens': '5000' }, key: null }
  ]);
  screen.getByText('Saved in /home/me/config.toml.');
});

it('sends a new key once, and neither shows nor stores it', async () => {
  const { forms, of } = await show();
  expect(field('Key').type).toBe('password');
  type('Key', KEY);
  await click('Save');
  expect(of('save_settings')).toMatchObject([{ key: KEY, values: {} }]);
  expect(field('Key').value).toBe('');
  await click('Save');
  expect(of('save_settings')[1]).toMatchObject({ key: null });
  expect(document.body.innerHTML).not.toContain(KEY);
  const stored = [localStorage, sessionStorage].map(each =>
    JSON.stringify(each)
  );
  expect(stored.join() + JSON.stringify(forms.draft)).not.toContain(KEY);
});

it('removes a key from the file', async () => {
  const { of } = await show({ settings: view({ key: 'file' }) });
  screen.getByText('A key is set in the config file.');
  await click('Remove the key');
  expect(of('save_settings')).toMatchObject([{ key: '' }]);
});

it('warns before a stored key is sent to another address', async () => {
  await show({
    settings: view({ key: 'environment', key_variable: 'OPENAI_API_KEY' })
  });
  expect(screen.queryByText(/sent to the new address/)).toBeNull();
  type('Address', 'https://example.org/v1');
  screen.getByText(/OPENAI_API_KEY.*sent to the new address/);
  type('Key', KEY);
  expect(screen.queryByText(/sent to the new address/)).toBeNull();
});

it('tests what is in the form, with the entered key', async () => {
  const { of } = await show();
  type('Provider', 'https://api.openai.com/v1');
  type('Model', 'gpt');
  type('Key', KEY);
  await click('Test');
  expect(of('try_model')).toEqual([
    {
      type: 'try_model',
      base_url: 'https://api.openai.com/v1',
      model: 'gpt',
      key: KEY
    }
  ]);
  screen.getByText('gpt answered in 1.3 s.');
  expect(of('save_settings')).toEqual([]);
});

it("shows the endpoint's own error", async () => {
  await show({
    tried: { problem: 'http://x: “model is overloaded”.' } as Partial<Answer>
  });
  await click('Test');
  screen.getByText('http://x: “model is overloaded”.');
});

it('shows in place why a value was rejected', async () => {
  const problems = { 'budget.tokens': 'Enter a whole number.' };
  await show({ settings: view({ problems }) });
  expect(field('Budget in tokens').getAttribute('aria-invalid')).toBe('true');
  const id = field('Budget in tokens').getAttribute('aria-describedby')!;
  expect(document.getElementById(id)!.textContent).toBe(
    'Enter a whole number.'
  );
});

it('offers the models of the chosen endpoint', async () => {
  await show();
  type('Model', 'lla');
  fireEvent.click(screen.getByRole('option', { name: 'llama3' }));
  expect(field('Model').value).toBe('llama3');
});

it('lets another address be entered, and asks for it', async () => {
  const { of } = await show();
  type('Provider', 'other');
  expect(field('Provider').value).toBe('other');
  expect(field('Address').value).toBe('');
  expect(field('Address').placeholder).toBe('http://localhost:8000/v1');
  await click('Test');
  await click('Save');
  screen.getByText('Enter the address of the endpoint.');
  expect([...of('save_settings'), ...of('try_model')]).toEqual([]);
  type('Address', 'http://127.0.0.1:8765/v1');
  expect(screen.queryByText('Enter the address of the endpoint.')).toBeNull();
  await click('Save');
  expect(of('save_settings')).toMatchObject([
    { values: { 'endpoint.base_url': 'http://127.0.0.1:8765/v1' } }
  ]);
  type('Provider', '');
  expect(field('Provider').value).toBe('');
});

describe('the efforts', () => {
  const effort = (value: string) =>
    view({
      settings: [
        setting('exploration.effort', {
          kind: 'choice',
          choices: ['auto', 'direct', 'explore'],
          default: 'auto',
          value
        })
      ]
    });
  const names = () =>
    [...field('Effort').querySelectorAll('option')].map(
      ({ textContent }) => textContent
    );

  it('have the names of the form, and the default is one of them', async () => {
    const { of } = await show({ settings: effort('') });
    expect(names()).toEqual([
      'Automatic (default)',
      'Whole programs',
      'Step by step'
    ]);
    screen.getByText(/^Automatic tries a whole program first/);
    type('Effort', 'explore');
    await click('Save');
    expect(of('save_settings')).toMatchObject([
      { values: { 'exploration.effort': 'explore' } }
    ]);
  });

  it('are shown as the default where the file says the same', async () => {
    const { of } = await show({ settings: effort('auto') });
    expect(field('Effort').selectedOptions[0].textContent).toBe(
      'Automatic (default)'
    );
    await click('Save');
    expect(of('save_settings')).toMatchObject([{ values: {} }]);
  });
});

it('offers to load the extension where the kernel has not', async () => {
  const { forms, sent } = await show({}, 'none');
  await click('Load the extension');
  expect(forms.loaded).toBe(1);
  expect(sent).toEqual([]);
  await click('Close');
  expect(forms.page).toBe('runs');
});

it('shows why the file cannot be read', async () => {
  await show({
    settings: view({ settings: [], problem: 'The file is damaged.' })
  });
  screen.getByText('The file is damaged.');
});

it('has no violations that axe finds', async () => {
  await show({
    settings: view({ key: 'file', problems: { 'endpoint.base_url': 'Bad.' } })
  });
  await click('Test');
  const { violations } = await axe.run(document.body, {
    rules: { region: { enabled: false }, 'color-contrast': { enabled: false } }
  });
  expect(violations).toEqual([]);
});

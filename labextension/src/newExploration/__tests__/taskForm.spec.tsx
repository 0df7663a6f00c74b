/** The form for a new exploration, through its user interface. */
import {
  act,
  cleanup,
  fireEvent,
  render,
  screen
} from '@testing-library/react';
import axe from 'axe-core';
import * as React from 'react';

import { FakeFormServices } from '../../sidebar/__tests__/fakeModel';
import { EMPTY_TASK } from '../callingCellSource';
import { TaskForm } from '../TaskForm';

async function show(forms = new FakeFormServices(), onClose?: () => void) {
  await act(async () => {
    render(<TaskForm forms={forms} focus onClose={onClose} />);
  });
  await settle();
  return forms;
}

const settle = () => act(() => new Promise(resolve => setTimeout(resolve)));
const field = (name: string) =>
  screen.getByLabelText<HTMLInputElement>(name, { selector: ':not(form)' });
const type = (name: string, value: string) =>
  fireEvent.change(field(name), { target: { value } });
const press = (name: string, key: string, more: object = {}) =>
  fireEvent.keyDown(field(name), { key, ...more });
const options = () =>
  screen
    .queryAllByRole('option')
    .flatMap(each => (each.closest('ul') ? each.textContent : []));

afterEach(cleanup);

describe('the form', () => {
  it('sends what was entered', async () => {
    const forms = await show();
    type('Library', 'networkx');
    type('Task', 'Find the path');
    type('Check (optional)', 'assert path');
    type('Model', 'offline');
    type('Effort', 'explore');
    fireEvent.click(screen.getByRole('button', { name: 'Explore' }));
    expect(forms.explored).toEqual([
      {
        libraries: 'networkx',
        task: 'Find the path',
        check: 'assert path',
        model: 'offline',
        effort: 'explore',
        setup: '',
        fixes: ''
      }
    ]);
  });

  it('is sent by Ctrl Enter in any field', async () => {
    const forms = await show();
    type('Library', 'networkx');
    type('Task', 'Find the path');
    press('Task', 'Enter', { ctrlKey: true });
    press('Library', 'Enter', { metaKey: true });
    expect(forms.explored).toHaveLength(2);
  });

  it('shows in place what is missing, and takes it back when it is entered', async () => {
    const forms = await show();
    type('Library', ' , ');
    fireEvent.click(screen.getByRole('button', { name: 'Explore' }));
    for (const name of ['Library', 'Task']) {
      expect(field(name).getAttribute('aria-invalid')).toBe('true');
      const id = field(name).getAttribute('aria-describedby')!;
      expect(document.getElementById(id)!.textContent).not.toBe('');
    }
    await settle();
    expect(document.activeElement).toBe(field('Library'));
    type('Library', 'networkx');
    expect(field('Library').getAttribute('aria-invalid')).toBeNull();
    expect(field('Task').getAttribute('aria-invalid')).toBe('true');
    expect(forms.explored).toEqual([]);
  });

  it('begins with the draft and keeps what is entered', async () => {
    const forms = new FakeFormServices();
    forms.draft = { ...EMPTY_TASK, libraries: 'networkx', task: 'a' };
    await show(forms);
    expect(document.activeElement).toBe(field('Task'));
    type('Task', 'a b');
    cleanup();
    await show(forms);
    expect(field('Task').value).toBe('a b');
  });

  it('is closed by Escape where there is something else to show', async () => {
    const close = jest.fn();
    await show(new FakeFormServices(), close);
    press('Task', 'Escape');
    expect(close).toHaveBeenCalledTimes(1);
  });

  it('has no violations that axe finds', async () => {
    const forms = new FakeFormServices();
    forms.names = { imported: ['networkx'], installed: [] };
    await show(forms, () => undefined);
    press('Library', 'ArrowDown');
    fireEvent.click(screen.getByRole('button', { name: 'Explore' }));
    const { violations } = await axe.run(document.body, {
      rules: {
        region: { enabled: false },
        'color-contrast': { enabled: false }
      }
    });
    expect(violations).toEqual([]);
  });
});

describe('the library field', () => {
  const names = {
    imported: ['numpy', 'networkx'],
    installed: ['nbformat', 'networkx', 'numpy', 'pandas']
  };
  const complete = async () => {
    const forms = new FakeFormServices();
    forms.names = names;
    await show(forms);
    return forms;
  };

  it('offers what is imported, then what is installed and matches', async () => {
    await complete();
    press('Library', 'ArrowDown');
    expect(options()).toEqual(['numpy', 'networkx']);
    type('Library', 'N');
    expect(options()).toEqual(['numpy', 'networkx', 'nbformat']);
    type('Library', 'pandas');
    expect(options()).toEqual([]);
  });

  it('completes with arrows and Enter, also the second library', async () => {
    const forms = await complete();
    type('Library', 'ne');
    press('Library', 'ArrowDown');
    const active = field('Library').getAttribute('aria-activedescendant')!;
    expect(document.getElementById(active)!.textContent).toBe('networkx');
    press('Library', 'Enter');
    expect(field('Library').value).toBe('networkx');
    type('Library', 'networkx, n');
    expect(options()).toEqual(['numpy', 'nbformat']);
    press('Library', 'ArrowUp');
    press('Library', 'Enter');
    expect(field('Library').value).toBe('networkx, nbformat');
    expect(forms.explored).toEqual([]);
  });

  it('completes by a click', async () => {
    await complete();
    type('Library', 'pan');
    fireEvent.click(screen.getByRole('option', { name: 'pandas' }));
    expect(field('Library').value).toBe('pandas');
    expect(options()).toEqual([]);
  });

  it('closes the list by Escape before the form', async () => {
    const close = jest.fn();
    const forms = new FakeFormServices();
    forms.names = names;
    await show(forms, close);
    type('Library', 'n');
    press('Library', 'Escape');
    expect(options()).toEqual([]);
    expect(close).not.toHaveBeenCalled();
    press('Library', 'Escape');
    expect(close).toHaveBeenCalled();
  });
});

/** The command that opens boards, in an application. */
import type { ILabShell, JupyterFrontEnd } from '@jupyterlab/application';
import { MainAreaWidget } from '@jupyterlab/apputils';
import { CodeMirrorEditorFactory } from '@jupyterlab/codemirror';
import type { INotebookTracker } from '@jupyterlab/notebook';
import { NotebookModel } from '@jupyterlab/notebook';
import { defaultRenderMime } from '@jupyterlab/rendermime/lib/testutils';
import { CommandRegistry } from '@lumino/commands';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import { waitFor } from '@testing-library/dom';

import { COMPARE } from '../../link/explorationInterface';
import {
  candidate,
  FakeExplorations,
  FakeModel,
  run,
  solved,
  subtask
} from '../../sidebar/__tests__/fakeModel';
import { plugins } from '../plugin';

interface IAdded {
  widget: MainAreaWidget;
  area: string;
  mode?: string;
}

let added: IAdded[];
let active: string[];

/** The commands of an activated plugin, for these runs. */
async function started(
  runs: ReturnType<typeof run>[],
  labShell: ILabShell | null = {} as ILabShell
): Promise<CommandRegistry> {
  const commands = new CommandRegistry();
  const shell = {
    add: (widget: MainAreaWidget, area: string, options = {}) => {
      added.push({ widget, area, ...options });
      Widget.attach(widget, document.body);
    },
    activateById: (id: string) => void active.push(id)
  };
  const contextMenu = { addItem: () => undefined };
  const panel = {
    id: 'panel',
    content: { activeCell: null, rendermime: defaultRenderMime() },
    context: { model: new NotebookModel(), disposed: new Signal({}) }
  };
  const explorations = new FakeExplorations();
  explorations.current = new FakeModel(runs);
  const factory = new CodeMirrorEditorFactory();
  await plugins[0].activate(
    { commands, shell, contextMenu } as unknown as JupyterFrontEnd,
    explorations,
    { currentWidget: panel } as unknown as INotebookTracker,
    { factoryService: factory },
    null,
    null,
    labShell,
    null
  );
  return commands;
}

beforeEach(() => {
  added = [];
  active = [];
});
afterEach(() => added.forEach(({ widget }) => widget.dispose()));

it('opens one board for each subtask, beside the notebook', async () => {
  const commands = await started([run({ key: 'k', run_id: 'r' })]);
  await commands.execute(COMPARE, { run: 'k', subtask: '1' });
  await commands.execute(COMPARE, { run: 'r', subtask: '1' });
  expect(added).toHaveLength(1);
  expect(added[0]).toMatchObject({ area: 'main', mode: 'split-right' });
  expect(active).toEqual([added[0].widget.id, added[0].widget.id]);
  await commands.execute(COMPARE, { subtask: '2' });
  expect(added).toHaveLength(2);
  expect(added[1]).toMatchObject({ mode: 'tab-after' });
  added[0].widget.dispose();
  await commands.execute(COMPARE, { subtask: '1' });
  expect(added).toHaveLength(3);
});

it('focuses a candidate also where it is rendered after the next frame', async () => {
  const frame = jest.spyOn(window, 'requestAnimationFrame');
  frame.mockImplementation(callback => {
    callback(0);
    return 0;
  });
  const commands = await started([run({ key: 'k' })]);
  await commands.execute(COMPARE, { subtask: '1' });
  frame.mockRestore();
  expect(document.activeElement).toBe(document.body);
  await waitFor(() => expect(document.activeElement?.tagName).toBe('ARTICLE'));
});

it('opens boards below the notebook where there is no other place', async () => {
  const commands = await started([solved()], null);
  await commands.execute(COMPARE, {});
  expect(added.map(({ area }) => area)).toEqual(['down']);
});

it('is available where there are candidates to compare', async () => {
  const one = subtask({ candidates: [candidate()] });
  const commands = await started([run({ key: 'k', subtasks: [one] })]);
  expect(commands.isEnabled(COMPARE, {})).toBe(false);
  expect(commands.isEnabled(COMPARE, { run: 'other' })).toBe(false);
  await commands.execute(COMPARE, {});
  expect(added).toEqual([]);
  const others = await started([run({ key: 'k' })]);
  expect(others.isEnabled(COMPARE, {})).toBe(true);
  expect(others.isEnabled(COMPARE, { subtask: '9' })).toBe(false);
});

/** The sidebar in an application: its position, when it opens, and how it changes the notebook. */
import { readFileSync } from 'fs';
import { join } from 'path';

import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { ICommandPalette } from '@jupyterlab/apputils';
import type { INotebookTracker, Notebook } from '@jupyterlab/notebook';
import type { Cell } from '@jupyterlab/cells';
import { NotebookModel } from '@jupyterlab/notebook';
import { NBTestUtils } from '@jupyterlab/notebook/lib/testutils';
import type { ISettingRegistry } from '@jupyterlab/settingregistry';
import { nullTranslator } from '@jupyterlab/translation';
import { waitFor } from '@testing-library/dom';
import { CommandRegistry } from '@lumino/commands';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';

import { HostServices } from '../hostServices';
import { EXPLORE_CELL, LOAD_CELL } from '../example';
import type { IPreferences } from '../sidebarPreferences';
import { insertExample } from '../insertExample';
import { plugins } from '../plugin';
import { SIDEBAR_ID, SidebarWidget } from '../sidebarWidget';
import {
  FakeFormServices,
  FakeExplorations,
  FakeModel,
  run,
  solved
} from './fakeModel';

const SCHEMA = join(__dirname, '../../../schema/sidebar.json');

/** The parts of an application that the sidebar needs. */
class FakeApp {
  commands = new CommandRegistry();
  opened: string[] = [];
  added: { widget: SidebarWidget; area: string; rank: number }[] = [];
  shell = {
    add: (
      widget: SidebarWidget,
      area: string,
      { rank }: { rank: number }
    ): void => {
      this.added.push({ widget, area, rank });
      Widget.attach(widget, document.body);
    },
    activateById: (id: string): void => void this.opened.push(id)
  };
  serviceManager = {
    contents: {
      driveName: (path: string) =>
        path.includes(':') ? path.split(':')[0] : '',
      localPath: (path: string) => path.split(':').at(-1)
    }
  };
}

function fakeTracker(currentWidget: object | null) {
  const signal = new Signal<object, void>({});
  return {
    currentWidget,
    activeCell: null as Cell | null,
    activeCellChanged: signal
  } as unknown as INotebookTracker & {
    activeCell: Cell | null;
    activeCellChanged: typeof signal;
  };
}

/** An activated plugin, with no optional dependency except the settings. */
async function started(settings: Partial<IPreferences> | null = {}) {
  const app = new FakeApp();
  const explorations = new FakeExplorations();
  const tracker = fakeTracker({});
  const composite = { composite: settings, changed: new Signal({}) };
  const registry = {
    load: () =>
      settings ? Promise.resolve(composite) : Promise.reject(new Error('none'))
  } as unknown as ISettingRegistry;
  const words: string[] = [];
  const palette = {
    addItem: ({ command }: { command: string }) => void words.push(command)
  } as unknown as ICommandPalette;
  await plugins[0].activate(
    app as unknown as JupyterFrontEnd,
    explorations,
    tracker,
    new FakeFormServices(),
    nullTranslator,
    null,
    registry,
    palette
  );
  await Promise.resolve();
  const [{ widget }] = app.added;
  return { app, explorations, tracker, widget, words };
}

/** Wait until the widget shows this text. */
const shown = (widget: SidebarWidget, text: string) =>
  waitFor(() => expect(widget.node.textContent).toContain(text));

afterEach(() => document.body.replaceChildren());

describe('the plugin', () => {
  it('adds the sidebar at the right, with icon and name', async () => {
    const { app, widget } = await started();
    expect(app.added[0]).toMatchObject({ area: 'right', rank: 700 });
    expect(widget.id).toBe(SIDEBAR_ID);
    expect(widget.title.caption).toBe('Exploration');
    expect(widget.title.icon).toBeTruthy();
  });

  it('works without anything optional', async () => {
    const app = new FakeApp();
    const tracker = fakeTracker(null);
    const optional = [null, null, null, null];
    const given = [
      new FakeExplorations(),
      tracker,
      new FakeFormServices(),
      ...optional
    ];
    await plugins[0].activate(app as unknown as JupyterFrontEnd, ...given);
    expect(app.added).toHaveLength(1);
  });

  it('describes its commands and puts them into the palette', async () => {
    const { app, words } = await started();
    expect(words).toHaveLength(5);
    for (const command of words) {
      expect(app.commands.label(command)).not.toBe('');
      expect(app.commands.caption(command)).not.toBe('');
      expect(await app.commands.describedBy(command)).toMatchObject({
        args: { type: 'object' }
      });
    }
  });

  it('shows the sidebar by command, and puts the focus there', async () => {
    const { app, widget } = await started();
    await shown(widget, 'Insert an example');
    await app.commands.execute('exploracoder:show-sidebar');
    expect(app.opened).toEqual([SIDEBAR_ID]);
    expect(document.activeElement?.getAttribute('role')).toBe('combobox');
  });

  it('follows the current notebook', async () => {
    const { explorations, widget } = await started();
    await shown(widget, 'Explore a library');
    explorations.become(new FakeModel([run({ task: 'First task' })]));
    await shown(widget, 'First task');
    explorations.become(new FakeModel([run({ task: 'Second task' })]));
    await shown(widget, 'Second task');
  });

  it('returns to where the focus was', async () => {
    const { app, explorations, widget } = await started();
    explorations.become(new FakeModel([solved()]));
    await shown(widget, 'Export');
    const row = widget.node.querySelector<HTMLElement>('[role="treeitem"]')!;
    row.focus();
    row.blur();
    await app.commands.execute('exploracoder:show-sidebar');
    expect(document.activeElement).toBe(row);
  });

  it('shows the configured keyboard shortcut', async () => {
    const { app, widget } = await started();
    await shown(widget, 'Insert an example');
    expect(widget.node.textContent).not.toContain(
      'in the notebook to come here'
    );
    const schema = JSON.parse(readFileSync(SCHEMA, 'utf-8'));
    app.commands.addKeyBinding(schema['jupyter.lab.shortcuts'][0]);
    widget.update();
    await shown(widget, 'Press Ctrl+Shift+Y in the notebook to come here');
  });

  it('follows the active cell', async () => {
    const { explorations, tracker, widget } = await started();
    const first = run({ cell: 'c1', run_id: 'id-1', task: 'First task' });
    const second = run({ key: 'r2', cell: 'c2', task: 'Second task' });
    explorations.become(new FakeModel([first, second]));
    const task = () =>
      widget.node.querySelector('.jp-Explora-task p')?.textContent;
    await waitFor(() => expect(task()).toBe('Second task'));
    const mark = { role: 'candidate', run_id: 'id-1', caller: 'c1' };
    const model = { id: 'x', getMetadata: () => mark };
    tracker.activeCell = { model } as unknown as Cell;
    tracker.activeCellChanged.emit();
    await waitFor(() => expect(task()).toBe('First task'));
  });

  it('releases everything when it is disposed', async () => {
    const { app, explorations, widget } = await started();
    const model = new FakeModel();
    explorations.become(model);
    widget.dispose();
    model.show(run());
    explorations.become(null);
    expect(app.opened).toEqual([]);
  });
});

describe('the sidebar opens by itself', () => {
  const runs = async (settings: Partial<IPreferences> | null) => {
    const { app, explorations } = await started(settings);
    const model = new FakeModel([run({ key: 'old' })]);
    explorations.become(model);
    expect(app.opened).toEqual([]);
    model.show(...model.runs, solved({ key: 'over' }));
    expect(app.opened).toEqual([]);
    model.show(...model.runs, run({ key: 'a' }));
    model.show(...model.runs);
    model.show(...model.runs, run({ key: 'b' }));
    return app.opened.length;
  };

  it('at the first run that starts, with or without settings', async () => {
    expect(await runs({})).toBe(1);
    expect(await runs(null)).toBe(1);
  });

  it('always, where that is set', async () => {
    expect(await runs({ openOnRun: 'always' })).toBe(2);
  });

  it('never, where that is set', async () => {
    expect(await runs({ openOnRun: 'never' })).toBe(0);
  });
});

describe('the example', () => {
  const notebook = (...sources: string[]): Notebook => {
    const widget = NBTestUtils.createNotebook();
    widget.model = new NotebookModel();
    const { sharedModel } = widget.model;
    sharedModel.deleteCellRange(0, sharedModel.cells.length);
    sharedModel.insertCells(
      0,
      sources.map(source => ({ cell_type: 'code', source }))
    );
    sharedModel.clearUndoHistory();
    return widget;
  };
  const sources = (widget: Notebook) =>
    widget.model!.sharedModel.cells.map(cell => cell.getSource());

  it('is inserted below the active cell, as one undo step', () => {
    const widget = notebook('a = 1', 'b = 2');
    widget.activeCellIndex = 0;
    insertExample(widget, false);
    expect(sources(widget)).toEqual([
      'a = 1',
      LOAD_CELL,
      EXPLORE_CELL,
      'b = 2'
    ]);
    expect(widget.activeCellIndex).toBe(1);
    widget.model!.sharedModel.undo();
    expect(sources(widget)).toEqual(['a = 1', 'b = 2']);
    widget.dispose();
  });

  it('is inserted above an empty cell, without loading the extension again', () => {
    const widget = notebook('  ');
    insertExample(widget, true);
    expect(sources(widget)).toEqual([EXPLORE_CELL, '  ']);
    expect(widget.activeCellIndex).toBe(0);
    widget.dispose();
  });
});

describe('a link', () => {
  it.each([
    ['folder/a.ipynb', 'folder/explorations/t.ipynb'],
    ['a.ipynb', 'explorations/t.ipynb'],
    ['RTC:folder/a.ipynb', 'RTC:folder/explorations/t.ipynb']
  ])('from %s leads to %s', (from, to) => {
    const app = new FakeApp();
    const opened: unknown[] = [];
    app.commands.addCommand('docmanager:open', {
      execute: args => opened.push(args.path)
    });
    const tracker = { currentWidget: { context: { path: from } } };
    new HostServices(
      app as unknown as JupyterFrontEnd,
      tracker as unknown as INotebookTracker,
      { current: null },
      new FakeFormServices()
    ).open('explorations/t.ipynb');
    expect(opened).toEqual([to]);
  });
});

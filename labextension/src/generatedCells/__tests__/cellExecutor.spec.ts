import { Notification } from '@jupyterlab/apputils';
import type { Cell } from '@jupyterlab/cells';
import { INotebookCellExecutor, NotebookModel } from '@jupyterlab/notebook';
import { nullTranslator } from '@jupyterlab/translation';

import { applyChange } from '../applyCellChange';
import { ExplorationCellExecutor } from '../cellExecutor';
import { RunCellState } from '../runCellState';
import { insert } from './notebookFixtures';

type Options = INotebookCellExecutor.IRunCellOptions;

let notebook: NotebookModel;
let executor: ExplorationCellExecutor;
let ran: string[];

beforeEach(() => {
  notebook = new NotebookModel();
  const cells = ['before', 'caller', 'after'].map(id => ({
    cell_type: 'code' as const,
    id,
    source: id === 'caller' ? '%%explora statistics\ntask' : id
  }));
  notebook.sharedModel.insertCells(0, cells);
  ran = [];
  executor = new ExplorationCellExecutor(
    nullTranslator.load('exploracoder_jupyter'),
    async ({ cell }) => {
      ran.push(cell.model.id);
      return true;
    }
  );
  Notification.manager.dismiss();
});

afterEach(() => notebook.dispose());

function explored(): void {
  const run = new RunCellState('k1', 'caller');
  const changes = [
    insert('setup', 'caller', { role: 'setup', source: '%load_ext x' }),
    insert('one', 'setup'),
    insert('solution', 'one', { role: 'solution' })
  ];
  changes.forEach(change => applyChange(notebook.sharedModel, { run, change }));
}

/** Run these cells at once, as JupyterLab does. */
function run(...ids: string[]): Promise<boolean[]> {
  const models = [...notebook.cells];
  const asked = ids.map(id => {
    const model = models.find(found => found.id === id);
    const options = { cell: { model } as unknown as Cell, notebook };
    return executor.runCell(options as unknown as Options);
  });
  return Promise.all(asked);
}

const notifications = () => Notification.manager.notifications;
const all = () => [...notebook.cells].map(model => model.id);

it('runs cells in the requested order', async () => {
  await run('before', 'caller', 'after');
  expect(ran).toEqual(['before', 'caller', 'after']);
});

it('runs neither recorded cells nor their calling cell with others, and reports that once', async () => {
  explored();
  const went = await run(...all());
  expect(went.every(Boolean)).toBe(true);
  expect(ran).not.toContain('one');
  expect(ran).not.toContain('caller');
  expect(ran).toEqual(expect.arrayContaining(['before', 'solution', 'after']));
  expect(notifications()).toHaveLength(1);
});

it('explores again when the caller is run alone', async () => {
  explored();
  await run('caller');
  await run('after');
  expect(ran).toEqual(['caller', 'after']);
  expect(notifications()).toHaveLength(0);
});

it('runs a caller that has become another cell', async () => {
  explored();
  [...notebook.cells][1].sharedModel.setSource('x = 1');
  await run('before', 'caller');
  expect(ran).toEqual(['before', 'caller']);
});

it('reports that a recorded cell is not run, and can convert it', async () => {
  explored();
  await run('one');
  expect(ran).toEqual([]);
  const [{ message, options }] = notifications();
  expect(message).toContain('recording');
  options.actions![0].callback(new MouseEvent('click'));
  await run('one');
  expect(ran).toEqual(['one']);
  notebook.sharedModel.undo();
  await run('one');
  expect(ran).toEqual(['one']);
});

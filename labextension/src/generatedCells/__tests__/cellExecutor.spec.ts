import { Notification } from '@jupyterlab/apputils';
import type { Cell } from '@jupyterlab/cells';
import { INotebookCellExecutor, NotebookModel } from '@jupyterlab/notebook';
import { nullTranslator } from '@jupyterlab/translation';
import { PromiseDelegate } from '@lumino/coreutils';

import { applyChange } from '../applyCellChange';
import { needsPackage } from '../callingCells';
import { ExplorationCellExecutor } from '../cellExecutor';
import { markOf } from '../generatedCell';
import type { ISolutionGuard } from '../replacementGuard';
import { RunCellState } from '../runCellState';
import { settled } from '../../link/__tests__/fakeKernel';
import { insert } from './notebookFixtures';

type Options = INotebookCellExecutor.IRunCellOptions;

let notebook: NotebookModel;
let executor: ExplorationCellExecutor;
let ran: string[];
let failing: string[];
/** The decisions that the guard was asked for, with the cells and whether more wait. */
let asked: {
  cells: string[];
  more: boolean;
  answer: PromiseDelegate<boolean>;
}[];

const guard: ISolutionGuard = {
  isSolution: cell => markOf(cell)?.role === 'solution',
  mayRun: (cells, _, more) => {
    const answer = new PromiseDelegate<boolean>();
    asked.push({ cells: cells.map(cell => cell.getId()), more, answer });
    return answer.promise;
  }
};

beforeEach(() => {
  notebook = new NotebookModel();
  const cells = ['before', 'caller', 'after'].map(id => ({
    cell_type: 'code' as const,
    id,
    source: id === 'caller' ? '%%explora statistics\ntask' : id
  }));
  notebook.sharedModel.insertCells(0, cells);
  ran = [];
  failing = [];
  asked = [];
  executor = new ExplorationCellExecutor(
    nullTranslator.load('exploracoder_jupyter'),
    async ({ cell }) => {
      ran.push(cell.model.id);
      if (failing.includes(cell.model.id)) {
        throw new Error('KernelReplyNotOK');
      }
      return true;
    },
    guard
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
  const running = run(...all());
  await settled();
  asked[0].answer.resolve(true);
  const went = await running;
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

describe('a solution', () => {
  beforeEach(() => {
    explored();
    const metadata = {
      exploracoder_jupyter: { run_id: 'r2', role: 'solution' }
    };
    notebook.sharedModel.addCell({
      cell_type: 'code',
      id: 'other',
      source: 'o',
      metadata
    });
  });

  it('is asked about once for all cells', async () => {
    const running = run(...all());
    await settled();
    expect(asked.map(({ cells, more }) => [cells, more])).toEqual([
      [['solution', 'other'], true]
    ]);
    expect(ran).toEqual(['before', 'setup']);
    asked[0].answer.resolve(true);
    expect(await running).not.toContain(false);
    expect(ran).toEqual(['before', 'setup', 'solution', 'after', 'other']);
  });

  it('is not run without consent, nor what follows', async () => {
    const running = run(...all());
    await settled();
    const later = run('after');
    asked[0].answer.resolve(false);
    await Promise.all([running, later]);
    expect(ran).toEqual(['before', 'setup']);
    await run('after');
    expect(ran.pop()).toBe('after');
  });

  it('keeps its place before cells run meanwhile', async () => {
    const running = [run('solution')];
    await settled();
    running.push(run('after'), run('other'));
    expect(asked[0].more).toBe(false);
    asked[0].answer.resolve(true);
    await settled();
    expect(ran).toEqual(['solution', 'after']);
    asked[1].answer.resolve(true);
    await Promise.all(running);
    expect(ran).toEqual(['solution', 'after', 'other']);
  });

  it.each([
    [[], ['before']],
    [['raises-exception'], ['before', 'solution']]
  ])(
    'is left out after a failure, except with tags %j',
    async (tags, expected) => {
      failing = ['before'];
      [...notebook.cells][0].sharedModel.setMetadata('tags', tags);
      const running = run('before', 'solution').catch(() => undefined);
      await settled();
      asked[0].answer.resolve(true);
      await running;
      await settled();
      expect(ran).toEqual(expected);
    }
  );
});

describe('a kernel without the package', () => {
  let prepared: PromiseDelegate<void>;

  beforeEach(() => {
    prepared = new PromiseDelegate();
    executor = new ExplorationCellExecutor(
      nullTranslator.load('exploracoder_jupyter'),
      async ({ cell }) => {
        ran.push(cell.model.id);
        return !failing.includes(cell.model.id);
      },
      undefined,
      ({ cell }) =>
        needsPackage(cell.model.sharedModel) ? prepared.promise : undefined
    );
  });

  it('gets it before the cell and those after it', async () => {
    const running = run('before', 'caller', 'after');
    await settled();
    expect(ran).toEqual(['before']);
    prepared.resolve();
    await running;
    expect(ran).toEqual(['before', 'caller', 'after']);
  });

  it('runs no cell after one that has failed meanwhile', async () => {
    failing = ['before'];
    const running = run('before', 'caller', 'after');
    await settled();
    prepared.resolve();
    expect(await running).toEqual([false, false, false]);
    expect(ran).toEqual(['before']);
  });

  it('is not prepared for other cells', async () => {
    await run('before', 'after');
    expect(ran).toEqual(['before', 'after']);
  });
});

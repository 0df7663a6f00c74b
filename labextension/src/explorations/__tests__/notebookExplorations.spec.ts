import { CodeCell } from '@jupyterlab/cells';
import type { YCodeCell } from '@jupyter/ydoc';
import { NotebookModel, NotebookPanel } from '@jupyterlab/notebook';
import { nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';

import { FakeKernel, settled } from '../../link/__tests__/fakeKernel';
import type { CellChange, RunView } from '../../messages';
import { markOf } from '../../generatedCells/generatedCell';
import { NotebookExplorations } from '../notebookExplorations';
import { onNextFrame } from '../../generatedCells/scheduling';
import {
  generated,
  insert,
  replace
} from '../../generatedCells/__tests__/notebookFixtures';
import { runView } from '../../generatedCells/__tests__/runFixtures';

const trans = nullTranslator.load('exploracoder_jupyter');

let kernel: FakeKernel;
let notebook: NotebookModel;
let model: NotebookExplorations;
let widgets: object[];
let pathChanged: Signal<object, string>;
let session: {
  session: { kernel: FakeKernel | null };
  kernelChanged: Signal<object, unknown>;
  statusChanged: Signal<object, string>;
};

beforeEach(() => {
  sessionStorage.clear();
  kernel = new FakeKernel();
  widgets = [];
  pathChanged = new Signal({});
  notebook = new NotebookModel();
  notebook.sharedModel.insertCell(0, {
    cell_type: 'code',
    id: 'caller',
    source: '%%explora statistics\ntask'
  });
  session = {
    session: { kernel },
    kernelChanged: new Signal({}),
    statusChanged: new Signal({})
  };
});

afterEach(() => {
  model.dispose();
  notebook.dispose();
});

/** The notebook is opened in this page. */
async function open(...runs: RunView[]): Promise<void> {
  kernel.runs = runs;
  const panel = {
    content: { model: notebook, widgets },
    context: {
      model: notebook,
      sessionContext: session,
      localPath: 'a notebook.ipynb',
      pathChanged,
      ready: Promise.resolve()
    }
  };
  const page = Promise.resolve('me');
  model = new NotebookExplorations(
    panel as unknown as NotebookPanel,
    page,
    trans,
    cell => cell === 'elsewhere'
  );
  await settled();
  await settled();
}

/** The kernel answers `sync` with these cells. */
function snapshot(seq: number, state: RunView, ...ids: string[]): void {
  kernel.answers.sync = message => ({
    type: 'snapshot',
    run: 'run' in message ? message.run : '',
    seq,
    state,
    cells: ids.map(id => generated(id, { run: state.run_id })),
    removed: ['taken back']
  });
}

function tellCells(seq: number, ...changes: CellChange[]): void {
  kernel.broadcast({ type: 'cells', run: 'k1', seq, changes });
}

/**
 * As many frames have been drawn as there are changes, and more: each frame applies at least one, however long it takes
 * on a busy machine.
 */
async function shown(): Promise<string[]> {
  for (let frame = 0; frame < 8; frame++) {
    await new Promise<void>(onNextFrame);
  }
  return [...notebook.cells].map(cell => cell.id);
}

it('sends the new path of a renamed notebook', async () => {
  // Issue 14, item 21: a renamed notebook lost the links to its traces.
  await open(runView());
  pathChanged.emit('renamed.ipynb');
  await settled();
  const hellos = kernel.receivedOfType('hello');
  expect(hellos).toHaveLength(2);
  expect(hellos[1]).toMatchObject({ notebook: 'a notebook.ipynb' });
});

it('knows whether a calling cell was deleted', async () => {
  await open(runView());
  let changes = 0;
  model.changed.connect(() => {
    changes += 1;
  });
  expect(model.hasCaller('k1')).toBe(true);
  notebook.sharedModel.deleteCell(0);
  expect([model.hasCaller('k1'), changes]).toEqual([false, 1]);
});

describe('the undo of a run that replaced another one', () => {
  const card = (text: string) => ({
    'text/plain': text,
    'text/html': `<div class="jp-Explora-panel jp-mod-ended" style="">${text}</div>`
  });
  const view = (key: string, fields: Partial<RunView> = {}) =>
    runView({
      key,
      run_id: key.replace('k', 'r'),
      status: 'solved',
      card: card(key),
      ...fields
    });

  /** The first run has ended, the second has replaced its cells. */
  async function replaced(status: RunView['status']): Promise<void> {
    await open();
    kernel.open('call', 'my session');
    await settled();
    kernel.broadcast({ type: 'state', state: view('k1') });
    tellCells(1, insert('explora-plan'), insert('explora-one', 'explora-plan'));
    await shown();
    kernel.broadcast({ type: 'state', state: view('k2', { status }) });
    (notebook.sharedModel.getCell(0) as YCodeCell).setOutputs([
      { output_type: 'display_data', data: card('k2'), metadata: {} }
    ]);
    const changes = [insert('explora-two', undefined, { run: 'r2' })];
    kernel.broadcast({ type: 'cells', run: 'k2', seq: 1, changes });
    expect(await shown()).toEqual(['caller', 'explora-two']);
    notebook.sharedModel.undo();
    await settled();
  }

  it('brings back cells and card, and takes the new ones away', async () => {
    await replaced('solved');
    expect(await shown()).toEqual(['caller', 'explora-plan', 'explora-one']);
    expect(model.runs.map(run => run.key)).toEqual(['k1']);
    const [output] = (
      notebook.sharedModel.getCell(0) as YCodeCell
    ).getOutputs();
    expect(JSON.stringify(output)).toContain('k1');
    expect(notebook.sharedModel.canRedo()).toBe(false);
  });

  it('stops the new run, and ignores what it still says', async () => {
    await replaced('running');
    expect(kernel.receivedOfType('stop')).toHaveLength(1);
    kernel.broadcast({ type: 'state', state: view('k2') });
    const changes = [insert('explora-three', 'explora-two', { run: 'r2' })];
    kernel.broadcast({ type: 'cells', run: 'k2', seq: 2, changes });
    expect(await shown()).toEqual(['caller', 'explora-plan', 'explora-one']);
    expect(model.runs.map(run => run.key)).toEqual(['k1']);
  });
});

describe('a run that begins', () => {
  it('is shown by the page that owns it, from the first message on', async () => {
    await open();
    kernel.open('call', 'my session');
    await settled();
    kernel.broadcast({ type: 'state', state: runView() });
    tellCells(1, insert('plan'));
    tellCells(2, insert('one', 'plan'));
    expect(await shown()).toEqual(['caller', 'plan', 'one']);
    expect(model.isOwned('k1')).toBe(true);
    expect(model.runs.map(run => run.key)).toEqual(['k1']);
  });

  it('is not shown by another page', async () => {
    await open();
    kernel.open('hello');
    kernel.broadcast({ type: 'state', state: runView({ owner: 'another' }) });
    tellCells(1, insert('plan'));
    expect(await shown()).toEqual(['caller']);
    expect([model.isOwned('k1'), model.runs.length]).toEqual([false, 1]);
  });

  it('is not another run’s because that had its name', async () => {
    await open(runView());
    session.statusChanged.emit('restarting');
    kernel.open('call', 'another session');
    const elsewhere = runView({ cell: 'elsewhere', run_id: 'r2' });
    kernel.broadcast({ type: 'state', state: elsewhere });
    expect(model.runs).toEqual([]);
  });

  it('is another notebook’s when its calling cell is', async () => {
    await open(runView({ cell: 'elsewhere' }));
    tellCells(1, insert('plan', 'elsewhere'));
    expect(await shown()).toEqual(['caller']);
    expect(model.runs).toEqual([]);
  });

  it('is known and controlled though its calling cell was not saved', async () => {
    await open(runView({ cell: 'lost', status: 'reviewing' }));
    tellCells(1, insert('plan', 'lost'));
    expect(await shown()).toEqual(['caller']);
    expect(model.runs.map(({ key }) => key)).toEqual(['k1']);
    expect([model.isHere('k1'), model.hasCells('k1')]).toEqual([false, false]);
    expect(kernel.receivedOfType('sync')).toEqual([]);
    const done = { type: 'done', problem: '', said: '', link: '' };
    kernel.answers.plan = () => done;
    expect((await model.plan('k1', ['one'])).problem).toBe('');
  });

  it('stays where everything of this notebook is removed', async () => {
    await open(runView({ cell: 'lost' }));
    model.remove('all');
    expect(kernel.receivedOfType('stop')).toEqual([]);
  });

  it('is confirmed when the kernel sends who', async () => {
    await open(runView());
    kernel.broadcast({ type: 'who', run: 'k1' });
    expect(kernel.receivedOfType('here')).toHaveLength(1);
  });

  it('is not confirmed by another notebook of the page', async () => {
    await open(runView({ cell: 'elsewhere' }));
    kernel.broadcast({ type: 'who', run: 'k1' });
    expect(kernel.receivedOfType('here')).toEqual([]);
  });

  it('is not reset by an older state that arrives after its end', async () => {
    await open(runView());
    kernel.broadcast({ type: 'state', state: runView({ status: 'solved' }) });
    kernel.runs = [runView()];
    kernel.open('hello');
    expect(model.runs[0].status).toBe('solved');
  });
});

describe('the solution', () => {
  const solved = runView({ status: 'solved', code: 'a = 2' });
  const wasTold = () => {
    const changed = jest.fn();
    model.changed.connect(changed);
    return changed;
  };

  it('is known to be in the notebook by its mark, though it was edited', async () => {
    await open(solved);
    expect(model.hasSolution('k1')).toBe(false);
    notebook.sharedModel.addCell(generated('other') as never);
    const changed = wasTold();
    notebook.sharedModel.addCell(generated('s', { role: 'solution' }) as never);
    expect(changed).toHaveBeenCalledTimes(1);
    notebook.sharedModel.getCell(2).setSource('a = 3');
    expect(model.hasSolution('k1')).toBe(true);
    expect(model.hasSolution('unknown')).toBe(false);
    notebook.sharedModel.deleteCell(2);
    expect(model.hasSolution('k1')).toBe(false);
  });

  it('is known to be in the notebook by its code', async () => {
    await open(solved);
    notebook.sharedModel.addCell({ cell_type: 'code', source: 'a = 2' });
    expect(model.hasSolution('k1')).toBe(true);
  });
});

describe('missed changes', () => {
  it('are requested after a reload, and later changes follow', async () => {
    snapshot(3, runView(), 'plan', 'one');
    await open(runView());
    tellCells(3, insert('stale', 'plan'));
    tellCells(4, insert('two', 'one'));
    expect(await shown()).toEqual(['caller', 'plan', 'one', 'two']);
  });

  it('is asked for when a message is missing', async () => {
    snapshot(0, runView());
    await open(runView());
    snapshot(3, runView(), 'plan', 'one', 'two');
    tellCells(1, insert('plan'));
    tellCells(3, insert('two', 'one'));
    await settled();
    expect(await shown()).toEqual(['caller', 'plan', 'one', 'two']);
  });

  it('are requested when the notebook is reloaded', async () => {
    snapshot(0, runView());
    await open(runView());
    snapshot(1, runView(), 'plan');
    notebook.fromJSON({
      cells: [
        { cell_type: 'code', id: 'caller', source: '', metadata: {} } as never
      ],
      metadata: {},
      nbformat: 4,
      nbformat_minor: 5
    });
    await settled();
    expect(await shown()).toEqual(['caller', 'plan']);
    expect(kernel.receivedOfType('dismiss')).toEqual([]);
  });

  it('is asked for once after the end of the run', async () => {
    const ended = runView({ status: 'solved' });
    snapshot(2, ended, 'plan', 'one');
    await open(ended);
    await shown();
    kernel.open('call', 'my session');
    await settled();
    expect(kernel.receivedOfType('hello')).toHaveLength(2);
    expect(kernel.receivedOfType('sync')).toHaveLength(1);
  });

  it('are requested again when the notebook is reloaded after the end', async () => {
    const ended = runView({ status: 'solved' });
    snapshot(2, ended, 'plan', 'one');
    await open(ended);
    await shown();
    const caller = {
      cell_type: 'code',
      id: 'caller',
      source: '',
      metadata: {}
    };
    notebook.fromJSON({
      cells: [caller as never],
      metadata: {},
      nbformat: 4,
      nbformat_minor: 5
    });
    await settled();
    expect(await shown()).toEqual(['caller', 'plan', 'one']);
  });

  it('remove the cells that the engine removed, and nothing else', async () => {
    for (const id of ['taken back', 'undone']) {
      notebook.sharedModel.insertCell(1, generated(id) as never);
    }
    snapshot(3, runView(), 'plan');
    await open(runView());
    expect(await shown()).toEqual(['caller', 'plan', 'undone']);
  });

  it('are left to another page as long as it owns the run', async () => {
    const theirs = runView({ owner: 'another' });
    snapshot(1, theirs, 'plan');
    await open(theirs);
    expect(await shown()).toEqual(['caller']);
  });

  it('are shown by this page when the owner is gone', async () => {
    snapshot(1, runView(), 'plan');
    await open(runView({ owner: 'gone' }));
    expect(await shown()).toEqual(['caller', 'plan']);
  });
});

describe('a cell that the user removes', () => {
  beforeEach(async () => {
    snapshot(1, runView(), 'plan', 'one');
    await open(runView());
    await shown();
  });

  it('is reported to the kernel, and not inserted again', async () => {
    notebook.sharedModel.deleteCell(2);
    expect(kernel.receivedOfType('dismiss')).toMatchObject([
      { run: 'k1', cells: ['one'] }
    ]);
    tellCells(2, insert('one', 'plan'));
    expect(await shown()).toEqual(['caller', 'plan']);
  });

  it('is a whole run', async () => {
    expect(model.remove('k1')).toBe(2);
    expect(kernel.receivedOfType('dismiss')).toMatchObject([
      { run: 'k1', cells: [] }
    ]);
    tellCells(2, insert('two', 'one'));
    expect(await shown()).toEqual(['caller']);
    notebook.sharedModel.undo();
    expect(await shown()).toEqual(['caller', 'plan', 'one']);
  });

  it('stops the run if it is active', () => {
    model.remove('k1');
    expect(kernel.receivedOfType('stop')).toMatchObject([{ run: 'k1' }]);
  });

  it('is not stopped when it has ended', () => {
    kernel.broadcast({ type: 'state', state: runView({ status: 'solved' }) });
    model.remove('k1');
    expect(kernel.receivedOfType('stop')).toEqual([]);
  });

  it('is a run that this kernel does not know', async () => {
    const old = generated('old', { run: 'r0' });
    notebook.sharedModel.insertCell(3, old as never);
    expect(model.remove('r0')).toBe(1);
    expect(await shown()).toEqual(['caller', 'plan', 'one']);
  });

  it('is asked for by the magic', async () => {
    kernel.broadcast({
      type: 'clean',
      session: 'another',
      keep_solution: false
    });
    expect(await shown()).toHaveLength(3);
    kernel.broadcast({
      type: 'clean',
      session: 'my session',
      keep_solution: false
    });
    expect(await shown()).toEqual(['caller']);
  });
});

describe('a calling cell that is run again', () => {
  const second = runView({ key: 'k2', run_id: 'r2' });

  it('shows only its newest run, though an older one is active', async () => {
    await open(runView());
    tellCells(1, insert('explora-plan'), insert('explora-one', 'explora-plan'));
    await shown();
    kernel.broadcast({ type: 'state', state: second });
    const changes = [insert('plan2', 'caller', { run: 'r2' })];
    kernel.broadcast({ type: 'cells', run: 'k2', seq: 1, changes });
    expect(await shown()).toEqual(['caller', 'plan2']);
    expect(kernel.receivedOfType('dismiss')).toMatchObject([
      { run: 'k1', cells: [] }
    ]);
    tellCells(2, replace('explora-one', 'explora-plan'));
    expect(await shown()).toEqual(['caller', 'plan2']);
  });

  it('shows its newest run alone after a reload', async () => {
    const older = generated('explora-old', {
      run: 'r1',
      mark: { caller: 'caller' }
    });
    notebook.sharedModel.insertCell(1, older as never);
    snapshot(1, second, 'plan2');
    await open(runView({ status: 'stopped' }), second);
    expect(await shown()).toEqual(['caller', 'plan2']);
    expect(kernel.receivedOfType('sync')).toMatchObject([{ run: 'k2' }]);
  });
});

describe('the line below the calling cell', () => {
  beforeEach(() => {
    const html =
      '<div class="jp-Explora-panel jp-mod-running">Subtask 1 of 3.</div>';
    const output = {
      output_type: 'display_data',
      data: { 'text/plain': 'Subtask 1 of 3.', 'text/html': html },
      metadata: {}
    };
    caller().setOutputs([output]);
  });

  const caller = () => notebook.sharedModel.getCell(0) as YCodeCell;
  const line = () =>
    (caller().getOutputs()[0].data as Record<string, string>)['text/plain'];

  it('shows the end of a run, also one that ended while the page was closed', async () => {
    await open(runView({ status: 'solved', activity: 'Solved.' }));
    expect(line()).toContain('Solved.');
  });

  it('shows the end of an active run', async () => {
    await open(runView());
    expect(line()).toBe('Subtask 1 of 3.');
    const ended = runView({ status: 'solved', activity: 'Solved.' });
    kernel.broadcast({ type: 'state', state: ended });
    expect(line()).toContain('Solved.');
  });

  it('shows that the kernel is gone', async () => {
    await open(runView());
    session.statusChanged.emit('restarting');
    expect(line()).toContain('The kernel stopped before the run finished.');
  });

  it('is another page’s, or another run’s', async () => {
    const ended = { status: 'solved', activity: 'Solved.' } as const;
    await open(runView(ended), runView({ key: 'k2', run_id: 'r2' }));
    kernel.broadcast({
      type: 'state',
      state: runView({ key: 'k2', run_id: 'r2', owner: 'another', ...ended })
    });
    expect(line()).toBe('Subtask 1 of 3.');
  });
});

describe('a kernel that is restarted', () => {
  it('leaves no run and no cell under way', async () => {
    await open(runView());
    const running = { mark: { status: 'running' } };
    tellCells(1, insert('one', 'caller', running));
    await shown();
    session.statusChanged.emit('restarting');
    expect(model.runs[0].status).toBe('stopped');
    expect(markOf([...notebook.cells][1])?.status).toBe('interrupted');
    expect((await model.retry('k1', '1')).problem).not.toBe('');
  });

  it('by another page says itself that it starts', async () => {
    await open(runView());
    expect(model.link).toBe('ready');
    session.statusChanged.emit('starting');
    expect([model.link, model.runs[0].status]).toEqual(['none', 'stopped']);
  });

  it('is not meant where one starts that has been asked already', async () => {
    kernel.answers = {};
    await open();
    session.statusChanged.emit('starting');
    expect(model.link).toBe('connecting');
  });

  it('may give the name of a run to another run', async () => {
    await open(runView());
    tellCells(1, insert('explora-one'));
    await shown();
    session.statusChanged.emit('restarting');
    kernel.open('call', 'my session');
    await settled();
    kernel.broadcast({ type: 'state', state: runView({ run_id: 'r2' }) });
    tellCells(1, insert('two', 'caller', { run: 'r2' }));
    expect(await shown()).toEqual(['caller', 'two']);
  });

  it('shows a run of that name though the old one was removed', async () => {
    await open(runView());
    tellCells(1, insert('one'));
    await shown();
    session.statusChanged.emit('restarting');
    expect(model.remove('k1')).toBe(1);
    kernel.open('call', 'my session');
    await settled();
    kernel.broadcast({ type: 'state', state: runView({ run_id: 'r2' }) });
    tellCells(1, insert('two', 'caller', { run: 'r2' }));
    expect(await shown()).toEqual(['caller', 'two']);
  });

  it('leaves another page’s cells to that page', async () => {
    const running = generated('one', { mark: { status: 'running' } });
    notebook.sharedModel.insertCell(1, running as never);
    await open(runView({ owner: 'another' }));
    session.statusChanged.emit('restarting');
    expect(markOf([...notebook.cells][1])?.status).toBe('running');
  });

  it('was so before the notebook was opened', async () => {
    const running = generated('one', { mark: { status: 'running' } });
    notebook.sharedModel.insertCell(1, running as never);
    await open();
    expect(markOf([...notebook.cells][1])?.status).toBe('interrupted');
  });
});

describe('a control', () => {
  it('is pending until it is answered', async () => {
    await open(runView());
    let changes = 0;
    model.changed.connect(() => {
      changes += 1;
    });
    const asked = model.skip('k1', '1');
    expect([model.isPending('k1', 'skip', '1'), changes]).toEqual([true, 1]);
    const [{ request }] = kernel.receivedOfType('skip');
    kernel.answer(request, { type: 'done', problem: 'too late' });
    expect((await asked).problem).toBe('too late');
    expect([model.isPending('k1', 'skip', '1'), changes]).toEqual([false, 2]);
  });

  it('reports why it cannot be sent', async () => {
    kernel.loaded = false;
    kernel.answers = {};
    await open();
    expect(model.link).toBe('none');
    expect((await model.stop('k1')).problem).toContain('%load_ext');
  });

  it('waits for the running cell where there are no subshells', async () => {
    kernel.supportsSubshells = false;
    await open(runView());
    expect(model.link).toBe('ready');
    kernel.status = 'busy';
    expect([model.link, model.busy]).toEqual(['waiting', true]);
  });

  it('waits for the running cell of a kernel that has not answered', async () => {
    kernel.supportsSubshells = false;
    kernel.answers = {};
    await open();
    expect(model.link).toBe('connecting');
    kernel.status = 'busy';
    expect(model.link).toBe('waiting');
  });

  it('is not shown as waiting as long as the kernel may have subshells', async () => {
    kernel.info = new Promise(() => undefined);
    kernel.status = 'busy';
    await open();
    expect(model.link).toBe('connecting');
  });

  it('that continues an ended run needs its calling cell', async () => {
    await open(runView({ status: 'solved' }));
    expect((await model.choose('k1', '1.2')).problem).not.toBe('');
    expect(kernel.receivedOfType('choose')).toEqual([]);
  });

  it('that continues an ended run runs the calling cell, and nothing else', async () => {
    const execute = jest
      .spyOn(CodeCell, 'execute')
      .mockResolvedValue(undefined);
    await open(runView({ status: 'solved' }));
    const caller = notebook.cells.get(0);
    widgets.push({ model: caller });
    expect((await model.retry('k1', '1', 'hint')).problem).toBe('');
    expect(execute.mock.calls[0][2]).toMatchObject({
      exploracoder_jupyter: { continue: { run: 'k1', hint: 'hint' } }
    });
    caller.sharedModel.setSource('something_else()');
    expect((await model.retry('k1', '1')).problem).not.toBe('');
    expect(execute).toHaveBeenCalledTimes(1);
    execute.mockRestore();
  });
});

it('a kernel is contacted after a reload though nothing was saved', async () => {
  await open(runView());
  expect(model.link).toBe('ready');
  model.dispose();
  notebook.sharedModel.deleteCell(0);
  await open(runView());
  expect(model.runs).toHaveLength(1);
});

it('emits changed when cells of a run are removed and restored', async () => {
  await open(runView());
  snapshot(1, runView(), 'plan');
  kernel.broadcast({
    type: 'cells',
    run: 'k1',
    seq: 1,
    changes: [insert('plan')]
  });
  await shown();
  const hadCells: boolean[] = [];
  model.changed.connect(() => hadCells.push(model.hasCells('k1')));
  notebook.sharedModel.deleteCell(1);
  expect(hadCells.at(-1)).toBe(false);
});

it('a kernel is not contacted by a notebook that does not use the extension', async () => {
  notebook.sharedModel.getCell(0).setSource('1 + 1');
  await open();
  expect(kernel.comms).toEqual([]);
});

it('a disposed model is silent', async () => {
  await open(runView());
  model.dispose();
  tellCells(1, insert('plan'));
  expect(await shown()).toEqual(['caller']);
});

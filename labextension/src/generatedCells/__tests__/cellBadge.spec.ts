import type { CodeCell } from '@jupyterlab/cells';
import { Notebook, NotebookModel, NotebookPanel } from '@jupyterlab/notebook';
import { NBTestUtils } from '@jupyterlab/notebook/lib/testutils';
import { nullTranslator } from '@jupyterlab/translation';
import { MessageLoop } from '@lumino/messaging';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';

import { settled } from '../../link/__tests__/fakeKernel';
import type { INotebookExplorations } from '../../link/explorationInterface';
import type { RunView } from '../../messages';
import { applyChange } from '../applyCellChange';
import { NotebookBadges } from '../cellBadge';
import { RunCellState } from '../runCellState';
import { insert, replace } from './notebookFixtures';
import { runView } from './runFixtures';

const trans = nullTranslator.load('exploracoder_jupyter');

let notebook: Notebook;
let model: NotebookModel;
let run: RunCellState;
let runs: RunView[];
let pending: boolean;
let asked: [string, string][];
let badges: NotebookBadges;
let looked: number;
const changed = new Signal<INotebookExplorations, void>(
  {} as INotebookExplorations
);

beforeEach(() => {
  notebook = NBTestUtils.createNotebook();
  model = new NotebookModel();
  notebook.model = model;
  model.sharedModel.insertCell(0, { cell_type: 'code', id: 'caller' });
  Widget.attach(notebook, document.body);
  run = new RunCellState('k1', 'caller');
  runs = [];
  pending = false;
  asked = [];
  looked = 0;
  badges = new NotebookBadges(
    { content: notebook } as unknown as NotebookPanel,
    {
      changed,
      link: 'ready',
      isPending: () => pending,
      get runs() {
        looked += 1;
        return runs;
      }
    } as unknown as INotebookExplorations,
    (action, cell) => asked.push([action, cell.model.id]),
    trans
  );
});

afterEach(() => {
  badges.dispose();
  notebook.dispose();
  model.dispose();
});

type Change = ReturnType<typeof insert>;

async function apply(...changes: Change[]): Promise<void> {
  changes.forEach(change => applyChange(model.sharedModel, { run, change }));
  await Promise.all(notebook.widgets.map(cell => cell.ready));
}

function badge(id: string): HTMLElement {
  const cell = notebook.widgets.find(widget => widget.model.id === id)!;
  return cell.node.querySelector<HTMLElement>('.jp-Explora-badge')!;
}

function button(id: string, label: string): HTMLButtonElement {
  const all = [...badge(id).querySelectorAll('button')];
  return all.find(found => found.textContent === label)!;
}

const mark = (fields: object) => ({ mark: fields as never });

describe('the badge of a candidate', () => {
  it('shows its id and its result', async () => {
    const fields = { candidate: '2.1', status: 'ok', seconds: 0.42, round: 1 };
    await apply(insert('one', 'caller', mark(fields)));
    expect(badge('one').getAttribute('aria-label')).toBe(
      'Candidate 2.1, ran, repair 1, 0.4 s'
    );
    expect(badge('one').textContent).toContain('✓');
  });

  it('is updated with its status', async () => {
    const before = mark({ candidate: '2.1', status: 'running' });
    await apply(insert('one', 'caller', before));
    const after = mark({ candidate: '2.1', status: 'timeout' });
    await apply(replace('one', 'caller', after));
    expect(badge('one').textContent).toContain('timed out');
  });

  it('offers to use another than the selected one', async () => {
    runs = [runView()];
    const fields = { candidate: '1.2', status: 'ok', selected: false };
    await apply(insert('one', 'caller', mark(fields)));
    button('one', 'Use this one instead').click();
    expect(asked).toEqual([['choose', 'one']]);
  });

  it('shows at once that it was requested, and requests only once', async () => {
    runs = [runView()];
    const fields = { candidate: '1.2', status: 'ok', selected: false };
    await apply(insert('one', 'caller', mark(fields)));
    button('one', 'Use this one instead').focus();
    pending = true;
    changed.emit();
    expect(document.activeElement).toBe(button('one', 'Requested…'));
    button('one', 'Requested…').click();
    expect(asked).toEqual([]);
  });

  it('shows why it was selected', async () => {
    runs = [runView()];
    const fields = { candidate: '1.1', status: 'ok', selected: true };
    await apply(insert('one', 'caller', mark(fields)));
    const reasons = badge('one').querySelector('ul')!;
    expect(reasons.hidden).toBe(true);
    button('one', 'Why?').click();
    expect(reasons.hidden).toBe(false);
    expect(reasons.textContent).toBe('<b>it ran</b>');
    expect(button('one', 'Why?').getAttribute('aria-expanded')).toBe('true');
  });

  it('is removed when the user converts the cell', async () => {
    await apply(insert('one', 'caller', mark({ candidate: '1.1' })));
    const cell = notebook.widgets[1];
    cell.model.deleteMetadata('exploracoder_jupyter');
    expect(badge('one').classList).toContain('lm-mod-hidden');
    expect(cell.node.classList).not.toContain('jp-Explora-cell');
  });
});

describe('the badge of a candidate that the user has edited', () => {
  beforeEach(async () => {
    const fields = { candidate: '1.2', status: 'ok', selected: false };
    runs = [runView()];
    await apply(insert('one', 'caller', mark(fields)));
    notebook.widgets[1].model.sharedModel.setSource('mine');
  });

  it('shows that, and nothing that was recorded', () => {
    expect(badge('one').getAttribute('aria-label')).toBe(
      'Candidate 1.2, edited'
    );
    expect(button('one', 'Use this one instead')).toBeUndefined();
  });

  it('offers to make it the user’s own', () => {
    button('one', 'Make it mine').click();
    expect(asked).toEqual([['make-mine', 'one']]);
  });
});

describe('the badge of what was tried', () => {
  const tries = {
    role: 'tries',
    source: '### 8 tries, 2 failed',
    ...mark({ status: 'solved' })
  };

  it('is one row that opens and closes it', async () => {
    const metadata = { 'jp-MarkdownHeadingCollapsed': true };
    await apply(insert('tries', 'caller', { ...tries, metadata }));
    const toggle = () => badge('tries').querySelector('button')!;
    expect(badge('tries').getAttribute('aria-label')).toBe('8 tries, 2 failed');
    expect(toggle().getAttribute('aria-expanded')).toBe('false');
    toggle().click();
    expect(toggle().getAttribute('aria-expanded')).toBe('true');
    toggle().click();
    expect(toggle().getAttribute('aria-expanded')).toBe('false');
  });
});

describe('the badge of a plan', () => {
  it('shows in a trace how the run ended, and nothing below a result card', async () => {
    const fields = { role: 'plan', ...mark({ status: 'solved' }) };
    await apply(insert('plan', 'caller', fields));
    expect(badge('plan').isConnected && !badge('plan').textContent).toBe(true);
    const cell = notebook.widgets[1].model;
    const { caller, ...rest } = cell.getMetadata('exploracoder_jupyter');
    expect(caller).toBe('caller');
    cell.setMetadata('exploracoder_jupyter', rest);
    expect(badge('plan').textContent).toContain('solved');
  });
});

it('the runs are looked up once for all badges', async () => {
  await apply(insert('one'), insert('two', 'one'));
  looked = 0;
  changed.emit();
  expect(looked).toBe(1);
});

it('a closed view does not react to cells any more', async () => {
  await apply(insert('one'));
  const problems: Error[] = [];
  const before = Signal.setExceptionHandler(error => problems.push(error));
  notebook.dispose();
  await apply(replace('one', 'caller', { mark: { status: 'ok' } }));
  Signal.setExceptionHandler(before);
  expect(problems).toEqual([]);
});

it('the text of a plan is rendered as soon as it changes', async () => {
  const plan = { role: 'plan', source: 'before' };
  await apply(insert('plan', 'caller', plan));
  MessageLoop.flush();
  await apply(replace('plan', 'caller', { ...plan, source: 'after' }));
  MessageLoop.flush();
  await settled();
  const shown = notebook.widgets[1].node.querySelector('.jp-MarkdownOutput')!;
  expect(shown.textContent).toContain('after');
});

it('other cells have none', async () => {
  await apply(insert('heading', 'caller', { role: 'subtask' }));
  expect(badge('caller')).toBeNull();
  expect(badge('heading').classList).toContain('lm-mod-hidden');
});

it('the view of a candidate that has lost is folded, source and outputs', async () => {
  const text = { output_type: 'stream', name: 'stdout', text: 'hello' };
  await apply(insert('one', 'caller', { outputs: [text] }));
  await apply(
    replace('one', 'caller', {
      outputs: [text],
      mark: { selected: false },
      metadata: { jupyter: { source_hidden: true, outputs_hidden: true } }
    })
  );
  const cell = notebook.widgets[1] as CodeCell;
  expect(cell.inputHidden).toBe(true);
  expect(cell.outputHidden).toBe(true);
  await apply(
    replace('one', 'caller', { outputs: [text], mark: { selected: true } })
  );
  expect(cell.inputHidden).toBe(false);
  expect(cell.outputHidden).toBe(false);
});

describe('a candidate that was not carried forward', () => {
  const FOLDED = { jupyter: { source_hidden: true, outputs_hidden: true } };
  const LOSER = {
    candidate: '1.2',
    status: 'error',
    selected: false
  };
  const error = {
    output_type: 'error',
    ename: 'KeyError',
    evalue: "'x'\nmore",
    traceback: []
  };

  beforeEach(async () => {
    await apply(
      insert('one', 'caller', {
        ...mark(LOSER),
        source: '%%explored 1.2\nimport math\n# why\nroot = math.sqrt(x)',
        outputs: [error],
        metadata: FOLDED
      })
    );
  });

  const toggle = () =>
    badge('one').querySelector<HTMLButtonElement>('[data-action=toggle]')!;

  it('is one line with the first meaningful line of its code and its error', () => {
    const { textContent } = badge('one');
    expect(textContent).toContain('root = math.sqrt(x)');
    expect(textContent).toContain("KeyError: 'x'");
    expect(textContent).not.toContain('more');
    expect(badge('one').parentElement!.className).toContain('folded');
    expect(toggle().getAttribute('aria-expanded')).toBe('false');
  });

  it('is opened and closed by its button, which the notebook remembers', async () => {
    toggle().focus();
    toggle().click();
    expect(toggle().getAttribute('aria-expanded')).toBe('true');
    expect(document.activeElement).toBe(toggle());
    expect(badge('one').parentElement!.className).not.toContain('folded');
    const { model: cell } = notebook.widgets[1];
    expect(cell.getMetadata('jupyter') ?? {}).not.toMatchObject(FOLDED.jupyter);
    toggle().click();
    expect(cell.getMetadata('jupyter')).toMatchObject(FOLDED.jupyter);
    expect(badge('one').parentElement!.className).toContain('folded');
  });
});

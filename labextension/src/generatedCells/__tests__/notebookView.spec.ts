/** What the user sees of the notebook, and where he is in it, while cells come and go. */
import { MarkdownCell } from '@jupyterlab/cells';
import {
  Notebook,
  NotebookActions,
  NotebookModel,
  NotebookPanel
} from '@jupyterlab/notebook';
import { NBTestUtils } from '@jupyterlab/notebook/lib/testutils';
import { Widget } from '@lumino/widgets';

import type { CellChange } from '../../messages';
import { insertBelow, showCell } from '../notebookActions';
import { NotebookCells } from '../notebookCells';
import { withHeadings } from '../collapsedHeadings';
import { CALLER, insert, remove } from './notebookFixtures';

let notebook: Notebook;
let model: NotebookModel;
let cells: NotebookCells;
let seq: number;

beforeEach(() => {
  notebook = NBTestUtils.createNotebook();
  model = new NotebookModel();
  notebook.model = model;
  const source = (id: string) => (id === CALLER ? '%%explora x\ntask' : id);
  model.sharedModel.insertCells(
    0,
    ['above', CALLER, 'below', 'last'].map(id => ({
      cell_type: 'code',
      id,
      source: source(id)
    }))
  );
  model.sharedModel.deleteCell(4); // the one that a new notebook has
  model.sharedModel.clearUndoHistory();
  Widget.attach(notebook, document.body);
  cells = new NotebookCells(
    model.sharedModel,
    next => next(),
    act => withHeadings(notebook, act)
  );
  seq = 0;
});

afterEach(() => {
  cells.dispose();
  notebook.dispose();
  model.dispose();
});

async function apply(...changes: CellChange[]): Promise<void> {
  seq += 1;
  cells.receive({ type: 'cells', run: 'k1', seq, changes }, CALLER);
  await ready();
}

async function ready(): Promise<void> {
  for (const cell of notebook.widgets) {
    await cell.ready;
    await cell.getHeadings();
  }
}

function widget(id: string) {
  return notebook.widgets.find(cell => cell.model.id === id)!;
}

/** The user types in this cell. */
async function typeIn(id: string): Promise<void> {
  await ready();
  notebook.activeCellIndex = notebook.widgets.indexOf(widget(id));
  notebook.mode = 'edit';
  widget(id).editor!.focus();
}

function place() {
  const focused = notebook.widgets.filter(cell => cell.editor?.hasFocus());
  return [
    notebook.activeCell?.model.id,
    notebook.mode,
    focused.map(cell => cell.model.id)
  ];
}

const heading = (id: string, after: string, title: string) =>
  insert(id, after, { role: 'subtask', source: `### ${title}` });

describe('the cell in which the user types', () => {
  const there = ['below', 'edit', ['below']];

  it('stays so while cells come and go above', async () => {
    await typeIn('below');
    await apply(insert('plan', CALLER, { role: 'plan' }));
    await apply(insert('one', 'plan'), insert('two', 'one'));
    await apply(
      insert('solution', 'two', { role: 'solution' }),
      insert('summary', 'solution', { role: 'summary' }),
      remove('one')
    );
    expect(place()).toEqual(there);
  });

  it('stays so when another run takes the place', async () => {
    await apply(insert('explora-plan'), insert('explora-one', 'explora-plan'));
    await typeIn('below');
    cells.clear();
    seq = 0;
    await apply(insert('plan2', CALLER, { run: 'r2' }));
    expect(notebook.widgets).toHaveLength(5);
    expect(place()).toEqual(there);
  });

  it('stays so when cells at several places are removed', async () => {
    await apply(insert('plan'), insert('one', 'plan'), insert('two', 'one'));
    const mine = { cell_type: 'code', id: 'mine' } as const;
    model.sharedModel.insertCell(3, mine);
    await typeIn('below');
    const active: (string | undefined)[] = [];
    notebook.activeCellChanged.connect(() =>
      active.push(notebook.activeCell?.model.id)
    );
    expect(cells.remove(() => true, false)).toBe(3);
    expect(place()).toEqual(there);
    expect(new Set(active)).toEqual(new Set(['below']));
  });
});

describe('cells below a collapsed heading', () => {
  async function collapse(id: string): Promise<void> {
    (widget(id) as MarkdownCell).headingCollapsed = true;
    await ready();
    expect(widget('below').isHidden).toBe(true);
  }

  it('are shown when the heading is removed', async () => {
    await apply(heading('summary', CALLER, 'Summary'));
    await collapse('summary');
    cells.remove(() => true, false);
    expect(notebook.widgets.map(cell => cell.isHidden)).not.toContain(true);
  });

  it('are shown when another run takes the place', async () => {
    await apply(heading('explora-summary', CALLER, 'Summary'));
    await collapse('explora-summary');
    cells.clear();
    seq = 0;
    await apply(insert('plan2', CALLER, { run: 'r2' }));
    expect(notebook.widgets.map(cell => cell.isHidden)).not.toContain(true);
  });

  it('are shown when the next heading comes between', async () => {
    await apply(heading('s2', CALLER, 'Subtask 2'), insert('one', 's2'));
    await collapse('s2');
    await apply(heading('s3', 'one', 'Subtask 3'));
    expect(widget('one').isHidden).toBe(true);
    expect(widget('below').isHidden).toBe(false);
    expect(widget('last').isHidden).toBe(false);
  });

  it('stay hidden where the user has hidden them', async () => {
    const mine = { cell_type: 'markdown', id: 'mine', source: '# Mine' };
    model.sharedModel.insertCell(2, mine as never);
    await ready();
    await apply(heading('summary', CALLER, 'Summary'));
    await collapse('mine');
    cells.remove(() => true, false);
    expect(widget('below').isHidden).toBe(true);
  });
});

describe('an inserted solution', () => {
  const panel = () => ({ content: notebook }) as unknown as NotebookPanel;
  const ofRun = (cell: { getId(): string }) =>
    [CALLER, 'plan', 'one'].includes(cell.getId());

  beforeEach(() => apply(insert('plan'), insert('one', 'plan')));

  it.each([CALLER, 'plan'])('does not part the run at %s', id => {
    notebook.activeCellIndex = notebook.widgets.indexOf(widget(id));
    insertBelow(panel(), 'solution', ofRun);
    expect(notebook.activeCellIndex).toBe(4);
    expect(notebook.activeCell?.model.sharedModel.getSource()).toBe('solution');
  });

  it('is below the active cell elsewhere, and is revealed', () => {
    notebook.activeCellIndex = 0;
    const scrolled = jest.spyOn(notebook, 'scrollToItem');
    insertBelow(panel(), 'solution', ofRun);
    expect(notebook.activeCellIndex).toBe(1);
    expect(scrolled).toHaveBeenCalledWith(1);
  });
});

it('a revealed cell is in command mode', async () => {
  await typeIn('below');
  showCell({ content: notebook } as unknown as NotebookPanel, CALLER, true);
  expect(place()).toEqual([CALLER, 'command', []]);
  expect(NotebookActions.getHeadingInfo(notebook.activeCell!).isHeading).toBe(
    false
  );
});

describe('the heading above what was tried', () => {
  const tries = (collapsed: boolean, status: string) => ({
    role: 'tries',
    source: '### 2 tries',
    mark: { status },
    metadata: collapsed ? { 'jp-MarkdownHeadingCollapsed': true } : {}
  });
  const outcome = { role: 'outcome', source: '### Solution' };
  const hidden = () =>
    notebook.widgets.filter(cell => cell.isHidden).map(cell => cell.model.id);
  const begin = (collapsed: boolean) =>
    apply(
      insert('tries', CALLER, tries(collapsed, 'running')),
      insert('one', 'tries'),
      insert('end', 'one', outcome)
    );
  const finish = () =>
    apply(
      { ...insert('tries', CALLER, tries(true, 'solved')), action: 'replace' },
      insert('solution', 'end', { role: 'solution' })
    );

  it('collapses at the end, and hides nothing of the user', async () => {
    await begin(false);
    expect(hidden()).toEqual([]);
    await finish();
    expect(hidden()).toEqual(['one']);
  });

  it('hides from the start what comes later', async () => {
    await begin(true);
    await apply(insert('two', 'one'));
    expect(hidden()).toEqual(['one', 'two']);
  });

  it('stays open if the user has opened it', async () => {
    await begin(true);
    (widget('tries') as MarkdownCell).headingCollapsed = false;
    await ready();
    await finish();
    await ready();
    expect(hidden()).toEqual([]);
  });
});

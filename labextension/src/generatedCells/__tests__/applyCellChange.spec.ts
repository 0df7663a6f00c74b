import type { YCodeCell, YNotebook } from '@jupyter/ydoc';

import type { CellChange } from '../../messages';
import { applyChange } from '../applyCellChange';
import { markOf } from '../generatedCell';
import { RunCellState } from '../runCellState';
import {
  CALLER,
  cell,
  ids,
  indexOf,
  insert,
  notebook,
  remove,
  replace
} from './notebookFixtures';

const TEXT = { output_type: 'stream', name: 'stdout', text: 'hello\n' };
const SOURCE_SHOWN = { source_hidden: false, outputs_hidden: false };
const FOLDED = { source_hidden: true, outputs_hidden: true };

let book: YNotebook;
let run: RunCellState;

beforeEach(() => {
  book = notebook();
  run = new RunCellState('k1', CALLER);
});

function apply(...changes: CellChange[]): void {
  changes.forEach(change => applyChange(book, { run, change }));
}

describe('new cells', () => {
  it('go below the calling cell, in order', () => {
    apply(insert('plan'), insert('one', 'plan'), insert('two', 'one'));
    expect(ids(book)).toEqual(['above', CALLER, 'plan', 'one', 'two', 'below']);
  });

  it('can be inserted between others', () => {
    apply(insert('plan'), insert('two', 'plan'));
    apply(insert('one', 'plan'));
    expect(ids(book).slice(2, 5)).toEqual(['plan', 'one', 'two']);
  });

  it('are inserted once, however often they are sent', () => {
    const changes = [insert('plan'), insert('one', 'plan'), replace('plan')];
    apply(...changes);
    const once = book.toJSON();
    apply(...changes);
    expect(book.toJSON()).toEqual(once);
  });

  it('are trusted, name their calling cell and keep their outputs', () => {
    apply(insert('one', CALLER, { outputs: [TEXT] }));
    const one = cell(book, 'one') as YCodeCell;
    expect(one.getMetadata('trusted')).toBe(true);
    expect(markOf(one)?.caller).toBe(CALLER);
    expect(one.getOutputs()).toEqual([TEXT]);
  });

  it('are inserted without active content', () => {
    const data = {
      'application/javascript': 'alert(1)',
      'application/vnd.jupyter.widget-view+json': {},
      'text/plain': 'safe'
    };
    const output = { output_type: 'display_data', data, metadata: {} };
    apply(insert('one', CALLER, { outputs: [output] }));
    const [shown] = (cell(book, 'one') as YCodeCell).getOutputs();
    expect(shown.data).toEqual({ 'text/plain': 'safe' });
  });

  it('are not recorded in the undo history', () => {
    apply(insert('one'));
    expect(book.canUndo()).toBe(false);
  });

  it('leave the user’s own undo steps', () => {
    book.insertCell(0, { cell_type: 'code', id: 'mine' });
    apply(insert('one'));
    book.undo();
    expect(ids(book)).toEqual(['above', CALLER, 'one', 'below']);
  });
});

describe('a place', () => {
  it('follows the calling cell when that moves', () => {
    book.moveCell(1, 2);
    apply(insert('plan'));
    expect(ids(book)).toEqual(['above', 'below', CALLER, 'plan']);
  });

  it('is below the last cell when the calling cell is gone', () => {
    apply(insert('plan'));
    book.deleteCell(1);
    apply(insert('one', 'plan'));
    expect(ids(book)).toEqual(['above', 'plan', 'one', 'below']);
  });

  it('is after an earlier cell when the nearest was deleted', () => {
    apply(insert('plan'), insert('one', 'plan'));
    book.deleteCell(indexOf(book, 'one'));
    run.deleted.add('one');
    apply(insert('two', 'one'));
    expect(ids(book)).toEqual(['above', CALLER, 'plan', 'two', 'below']);
  });

  it('is above a later cell when nothing else is left', () => {
    apply(insert('plan'), insert('two', 'plan'));
    book.deleteCellRange(1, 3);
    run.deleted.add('plan');
    apply(insert('one', 'plan'));
    expect(ids(book)).toEqual(['above', 'one', 'two', 'below']);
  });

  it('is the end when no other cell is left', () => {
    book.deleteCell(1);
    apply(insert('plan'));
    expect(ids(book)).toEqual(['above', 'below', 'plan']);
  });

  it('does not follow a cell that the user has moved away', () => {
    apply(insert('plan'), insert('one', 'plan'));
    book.moveCell(indexOf(book, 'one'), 4);
    run.moved.add('one');
    apply(insert('two', 'one'));
    expect(ids(book)).toEqual(['above', CALLER, 'plan', 'two', 'below', 'one']);
  });

  it('follows the cells when the user has moved them all', () => {
    apply(insert('plan'));
    book.moveCell(indexOf(book, 'plan'), 3);
    run.moved.add('plan');
    apply(insert('one', 'plan'));
    expect(ids(book)).toEqual(['above', CALLER, 'below', 'plan', 'one']);
  });

  it('is right for cells that were there before the page was loaded', () => {
    apply(insert('plan'), insert('one', 'plan'));
    run = new RunCellState('k1', CALLER);
    apply(insert('plan'), insert('one', 'plan'), insert('two', 'one'));
    expect(ids(book).slice(2)).toEqual(['plan', 'one', 'two', 'below']);
  });
});

describe('a changed cell', () => {
  it('stays the same cell', () => {
    apply(insert('one'));
    const before = cell(book, 'one');
    apply(replace('one', CALLER, { outputs: [TEXT], mark: { status: 'ok' } }));
    expect(cell(book, 'one')).toBe(before);
    expect((before as YCodeCell).getOutputs()).toEqual([TEXT]);
    expect(markOf(before)?.status).toBe('ok');
  });

  it('keeps outputs that are the same', () => {
    apply(insert('one', CALLER, { outputs: [TEXT] }));
    let changed = 0;
    cell(book, 'one').changed.connect((_, change) => {
      changed += 'outputsChange' in change ? 1 : 0;
    });
    apply(replace('one', CALLER, { outputs: [TEXT], mark: { status: 'ok' } }));
    expect(changed).toBe(0);
  });

  it('keeps the outputs of a solution that the user has run', () => {
    const solution = { role: 'solution', source: 'print()' };
    apply(insert('one', CALLER, solution));
    (cell(book, 'one') as YCodeCell).setOutputs([TEXT]);
    apply(replace('one', CALLER, { ...solution, mark: { status: 'ok' } }));
    expect((cell(book, 'one') as YCodeCell).getOutputs()).toEqual([TEXT]);
    expect(markOf(cell(book, 'one'))?.status).toBe('ok');
  });

  it('keeps the user’s source, and updates the rest', () => {
    apply(insert('one'));
    cell(book, 'one').setSource('mine');
    apply(replace('one', CALLER, { source: 'new', outputs: [TEXT] }));
    const one = cell(book, 'one') as YCodeCell;
    expect(one.getSource()).toBe('mine');
    expect(one.getOutputs()).toEqual([TEXT]);
  });

  it('is updated when the user did not edit it', () => {
    apply(insert('plan', CALLER, { role: 'plan', source: 'a' }));
    apply(replace('plan', CALLER, { role: 'plan', source: 'b' }));
    expect(cell(book, 'plan').getSource()).toBe('b');
  });

  it('keeps the user’s tags and other metadata', () => {
    apply(insert('one'));
    const one = cell(book, 'one');
    one.setMetadata('tags', ['explora-candidate', 'mine']);
    one.setMetadata('other', 1);
    apply(replace('one', CALLER, { mark: { selected: true } }));
    expect(one.getMetadata('tags')).toEqual(['explora-candidate', 'mine']);
    expect(one.getMetadata('other')).toBe(1);
  });

  it('folds when it has lost', () => {
    apply(insert('one'));
    const lost = { metadata: { jupyter: FOLDED }, mark: { selected: false } };
    apply(replace('one', CALLER, lost));
    expect(cell(book, 'one').getMetadata('jupyter')).toEqual(FOLDED);
  });

  it('unfolds when it is chosen after all', () => {
    const lost = { metadata: { jupyter: FOLDED }, mark: { selected: false } };
    apply(insert('one', CALLER, lost));
    apply(replace('one', CALLER, { mark: { selected: true } }));
    expect(cell(book, 'one').getMetadata('jupyter')).toEqual(SOURCE_SHOWN);
  });

  it.each([false, true])(
    'stays as the user folded it (page loaded anew: %s)',
    anew => {
      const lost = { metadata: { jupyter: FOLDED }, mark: { selected: false } };
      apply(insert('one', CALLER, lost));
      cell(book, 'one').setMetadata('jupyter', SOURCE_SHOWN);
      run = anew ? new RunCellState('k1', CALLER) : run;
      apply(replace('one', CALLER, lost));
      expect(cell(book, 'one').getMetadata('jupyter')).toEqual(SOURCE_SHOWN);
    }
  );

  it('is inserted when it was missing', () => {
    apply(insert('plan'), replace('one', 'plan'));
    expect(ids(book)).toContain('one');
  });

  it('is not inserted again when the user has deleted it', () => {
    apply(insert('one'));
    book.deleteCell(indexOf(book, 'one'));
    run.deleted.add('one');
    apply(replace('one'), insert('one'));
    expect(ids(book)).not.toContain('one');
  });

  it('is left alone when the user has converted it', () => {
    apply(insert('one'));
    cell(book, 'one').deleteMetadata('exploracoder_jupyter');
    apply(replace('one', CALLER, { outputs: [TEXT] }));
    expect((cell(book, 'one') as YCodeCell).getOutputs()).toEqual([]);
  });
});

describe('a removed cell', () => {
  it('is removed, also if it does not exist', () => {
    apply(insert('one'), remove('one'), remove('one'), remove('never'));
    expect(ids(book)).toEqual(['above', CALLER, 'below']);
  });

  it('becomes an ordinary cell when the user has edited it', () => {
    apply(insert('one'));
    cell(book, 'one').setSource('mine');
    apply(remove('one'));
    expect(cell(book, 'one').getSource()).toBe('mine');
    expect(markOf(cell(book, 'one'))).toBeNull();
  });

  it('is never one of the user’s own', () => {
    apply(remove('above'));
    expect(ids(book)).toContain('above');
  });
});

describe('another run of the calling cell', () => {
  it('replaces the previous one', () => {
    apply(insert('explora-plan'), insert('explora-one', 'explora-plan'));
    run = new RunCellState('k2', CALLER);
    apply(insert('plan2', CALLER, { run: 'r2' }));
    expect(ids(book)).toEqual(['above', CALLER, 'plan2', 'below']);
  });

  it('replaces it also if its id was known before its cells', () => {
    apply(insert('explora-plan'));
    run = new RunCellState('k2', CALLER);
    run.runId = 'r2';
    apply(insert('plan2', CALLER, { run: 'r2' }));
    expect(ids(book)).toEqual(['above', CALLER, 'plan2', 'below']);
  });

  it('leaves the user’s copies of cells of the one before', () => {
    apply(insert('explora-one'));
    const copy = cell(book, 'explora-one').toJSON();
    book.insertCell(0, { ...copy, id: 'copy' } as never);
    run = new RunCellState('k2', CALLER);
    apply(insert('plan2', CALLER, { run: 'r2' }));
    expect(ids(book)).toEqual(['copy', 'above', CALLER, 'plan2', 'below']);
  });

  it.each([null, 1])('removes a solution unless it was run (%s)', count => {
    const id = 'explora-solution';
    apply(insert(id, CALLER, { role: 'solution', source: '1' }));
    const solution = cell(book, id) as YCodeCell;
    solution.execution_count = count;
    solution.setOutputs([TEXT]);
    run = new RunCellState('k2', CALLER);
    apply(insert('plan2', CALLER, { run: 'r2' }));
    const kept = count === null ? [] : [id];
    expect(ids(book)).toEqual(['above', CALLER, 'plan2', ...kept, 'below']);
    expect(
      book.cells.filter(other => other.getId() === id && markOf(other))
    ).toEqual([]);
  });

  it('leaves the user’s edited cells and other cells’ runs', () => {
    apply(insert('explora-one'));
    cell(book, 'explora-one').setSource('mine');
    run = new RunCellState('other', 'above');
    apply(insert('theirs', 'above', { run: 'r9' }));
    run = new RunCellState('k2', CALLER);
    apply(insert('plan2', CALLER, { run: 'r2' }));
    expect(ids(book)).toEqual([
      'above',
      'theirs',
      CALLER,
      'plan2',
      'explora-one',
      'below'
    ]);
    expect(markOf(cell(book, 'explora-one'))).toBeNull();
  });
});

it('the changes of a dismissed run are ignored', () => {
  run.dismissed = true;
  apply(insert('one'));
  expect(ids(book)).not.toContain('one');
});

describe('the cells of an earlier run', () => {
  beforeEach(() => {
    apply(insert('explora-old', CALLER, { run: 'r0', outputs: [TEXT] }));
    run = new RunCellState('k2', CALLER);
  });

  it('are restored next to the new ones by one undo', () => {
    apply(insert('plan'), insert('one', 'plan'));
    expect(ids(book)).not.toContain('explora-old');
    book.undo();
    expect(ids(book).sort()).toEqual(
      ['above', CALLER, 'below', 'explora-old', 'one', 'plan'].sort()
    );
    expect((cell(book, 'explora-old') as YCodeCell).getOutputs()).toEqual([
      TEXT
    ]);
    expect(book.canUndo()).toBe(false);
  });

  it('are kept once they are restored', () => {
    apply(insert('plan'));
    book.undo();
    apply(insert('one', 'plan'), replace('plan'));
    expect(ids(book)).toContain('explora-old');
  });
});

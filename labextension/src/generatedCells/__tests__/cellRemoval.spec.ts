import type { YCodeCell, YNotebook } from '@jupyter/ydoc';

import { applyChange } from '../applyCellChange';
import { markOf } from '../generatedCell';
import { removeCells } from '../cellRemoval';
import { RunCellState } from '../runCellState';
import { CALLER, cell, ids, insert, notebook } from './notebookFixtures';

const TEXT = { output_type: 'stream', name: 'stdout', text: 'hello\n' };

let book: YNotebook;

beforeEach(() => {
  book = notebook();
  const run = new RunCellState('k1', CALLER);
  [
    insert('plan', CALLER, { role: 'plan' }),
    insert('one', 'plan', { outputs: [TEXT] }),
    insert('solution', 'one', { role: 'solution' })
  ].forEach(change => applyChange(book, { run, change }));
});

it('removes all cells of a run, and one undo brings them back whole', () => {
  const before = book.toJSON();
  expect(removeCells(book, mark => mark.run_id === 'r1')).toBe(3);
  expect(ids(book)).toEqual(['above', CALLER, 'below']);
  book.undo();
  expect(book.toJSON()).toEqual(before);
  expect((cell(book, 'one') as YCodeCell).getOutputs()).toEqual([TEXT]);
  book.redo();
  expect(ids(book)).toEqual(['above', CALLER, 'below']);
});

it('is a step of its own', () => {
  book.insertCell(0, { cell_type: 'code', id: 'before' });
  removeCells(book, () => true);
  book.insertCell(0, { cell_type: 'code', id: 'after' });
  book.undo();
  expect(ids(book)).toEqual(['before', 'above', CALLER, 'below']);
  book.undo();
  expect(ids(book)).toContain('plan');
  expect(ids(book)).toContain('before');
});

it('leaves other runs', () => {
  expect(removeCells(book, mark => mark.run_id === 'r2')).toBe(0);
  expect(ids(book)).toContain('plan');
});

it('keeps what the user has edited, and its undo makes it ours again', () => {
  cell(book, 'one').setSource('mine');
  expect(removeCells(book, () => true)).toBe(2);
  expect(ids(book)).toEqual(['above', CALLER, 'one', 'below']);
  expect(markOf(cell(book, 'one'))).toBeNull();
  book.undo();
  expect(markOf(cell(book, 'one'))?.role).toBe('candidate');
});

it('frees an edited candidate of the line that keeps it from being run', () => {
  cell(book, 'one').setSource('%%explored 1.1\nmine = 1');
  removeCells(book, () => true);
  expect(cell(book, 'one').getSource()).toBe('mine = 1');
});

it('keeps the solution when asked to, as the user’s own', () => {
  removeCells(
    book,
    () => true,
    other => markOf(other)?.role === 'solution'
  );
  expect(ids(book)).toEqual(['above', CALLER, 'solution', 'below']);
  expect(markOf(cell(book, 'solution'))).toBeNull();
});

it('leaves a notebook with a cell to type in', () => {
  book.deleteCellRange(0, 2);
  book.deleteCell(ids(book).indexOf('below'));
  removeCells(book, () => true);
  expect(book.cells).toHaveLength(1);
});

import type { YNotebook } from '@jupyter/ydoc';

import { applyChange } from '../applyCellChange';
import { RunCellState } from '../runCellState';
import { CellWatcher } from '../cellWatcher';
import { CALLER, indexOf, insert, notebook } from './notebookFixtures';

let book: YNotebook;
let watcher: CellWatcher;
let seen: { deleted: string[]; moved: string[]; reloaded: number };

beforeEach(() => {
  book = notebook();
  const run = new RunCellState('k1', CALLER);
  const changes = [insert('plan'), insert('one', 'plan')];
  changes.forEach(change => applyChange(book, { run, change }));
  watcher = new CellWatcher(book);
  seen = { deleted: [], moved: [], reloaded: 0 };
  watcher.userChanged.connect((_, { deleted, moved }) => {
    seen.deleted.push(...deleted.keys());
    seen.moved.push(...moved.keys());
  });
  watcher.reloaded.connect(() => {
    seen.reloaded += 1;
  });
});

it('reports cells that the user deletes', () => {
  book.deleteCell(indexOf(book, 'one'));
  expect(seen).toEqual({ deleted: ['one'], moved: [], reloaded: 0 });
});

it('reports cells that the user moves', () => {
  book.moveCell(indexOf(book, 'one'), 0);
  expect(seen).toEqual({ deleted: [], moved: ['one'], reloaded: 0 });
});

it('ignores the user’s own cells', () => {
  book.deleteCell(0);
  book.insertCell(0, { cell_type: 'code' });
  expect(seen).toEqual({ deleted: [], moved: [], reloaded: 0 });
});

it('ignores our own changes', () => {
  watcher.withoutWatching(() => book.deleteCell(indexOf(book, 'one')));
  expect(seen).toEqual({ deleted: [], moved: [], reloaded: 0 });
});

it('recognizes a reloaded notebook', () => {
  const { cells, metadata } = notebook().toJSON();
  book.fromJSON({ cells, metadata, nbformat: 4, nbformat_minor: 5 });
  expect(seen).toEqual({ deleted: [], moved: [], reloaded: 1 });
});

it('recognizes the deletion of all cells', () => {
  book.transact(() => {
    book.deleteCellRange(0, book.cells.length);
    book.insertCell(0, { cell_type: 'code', id: 'fresh' });
  });
  expect(seen).toEqual({ deleted: ['plan', 'one'], moved: [], reloaded: 0 });
});

it('emits nothing once it is disposed', () => {
  watcher.dispose();
  book.deleteCell(indexOf(book, 'one'));
  expect(seen.deleted).toEqual([]);
});

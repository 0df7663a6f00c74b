import type { YCodeCell } from '@jupyter/ydoc';

import {
  clearMark,
  isEdited,
  isGuarded,
  makeRunnable,
  markOf,
  sourceHash
} from '../generatedCell';
import { cell, generated, insert, notebook } from './notebookFixtures';
import { applyChange } from '../applyCellChange';
import { RunCellState } from '../runCellState';

describe('the hash of a source', () => {
  it.each([
    ['', 'e4a6a0577479b2b4'],
    ['x = 1', '59705646f73aad2b'],
    ['%%explored 2.1\nprint("schöne Grüße 🦊")\n', '73d69596afa6a4ad']
  ])('is the one that Python computes of %j', (source, expected) => {
    expect(sourceHash(source)).toBe(expected);
  });
});

describe('a generated cell', () => {
  const made = () => {
    const book = notebook();
    const run = new RunCellState('k1', 'caller');
    applyChange(book, { run, change: insert('one') });
    return cell(book, 'one');
  };

  it('is distinguished from the user’s own', () => {
    expect(markOf(made())?.role).toBe('candidate');
    expect(markOf(made(), 'another run')).toBeNull();
    expect(markOf(cell(notebook(), 'above'))).toBeNull();
  });

  it('is edited when its source differs', () => {
    const one = made();
    const before = one.getSource();
    expect(isEdited(one)).toBe(false);
    one.setSource('%%explored one\n2');
    expect(isEdited(one)).toBe(true);
    one.setSource(before);
    expect(isEdited(one)).toBe(false);
  });

  it('is guarded as long as it has the guard line', () => {
    const one = made();
    expect(isGuarded(one)).toBe(true);
    one.setSource('2');
    expect(isGuarded(one)).toBe(false);
  });

  it('becomes an ordinary cell without our metadata', () => {
    const one = made();
    one.setMetadata('tags', ['explora-candidate', 'skip-execution', 'mine']);
    makeRunnable(one);
    expect(one.getSource()).toBe('1');
    expect(one.getMetadata('tags')).toEqual(['mine']);
    expect(markOf(one)).toBeNull();
  });

  it('keeps outputs recorded for its code, but not for other code', () => {
    const text = { output_type: 'stream', name: 'stdout', text: '1' };
    const one = made() as YCodeCell;
    one.setOutputs([text]);
    const other = made() as YCodeCell;
    other.setOutputs([text]);
    other.setSource('mine');
    [one, other].forEach(makeRunnable);
    expect(one.getOutputs()).toEqual([text]);
    expect(other.getOutputs()).toEqual([]);
  });

  it('has no tags left when all were ours', () => {
    const one = made();
    clearMark(one);
    expect(one.getMetadata('tags')).toBeUndefined();
  });

  it('that was only loaded is recognised too', () => {
    const book = notebook();
    book.insertCell(3, generated('two') as never);
    expect(markOf(cell(book, 'two'))?.run_id).toBe('r1');
  });
});

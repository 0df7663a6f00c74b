import type { CellChange } from '../../messages';
import type { IRunChange } from '../../generatedCells/applyCellChange';
import { ChangeQueue } from '../changeQueue';
import { RunCellState } from '../../generatedCells/runCellState';
import {
  insert,
  remove,
  replace
} from '../../generatedCells/__tests__/notebookFixtures';

const run = new RunCellState('k1', 'caller');

/** A queue whose frames are drawn by hand, by a clock that each change puts on. */
function byHand(cost: number) {
  const frames: (() => void)[] = [];
  const batches: CellChange[][] = [];
  let now = 0;
  const wait = (next: () => void) => {
    frames.push(() => {
      batches.push([]);
      next();
    });
  };
  const queue = new ChangeQueue(
    ({ change }) => {
      now += cost;
      batches[batches.length - 1].push(change);
    },
    wait,
    wait,
    () => now
  );
  const draw = () => frames.splice(0).forEach(frame => frame());
  const drain = () => {
    while (frames.length) {
      draw();
    }
  };
  const add = (...changes: CellChange[]) =>
    queue.add(changes.map((change): IRunChange => ({ run, change })));
  return { queue, batches, frames, draw, drain, add };
}

const many = (count: number) =>
  Array.from({ length: count }, (_, index) => insert(`c${index}`));

it('applies everything in order', () => {
  const { add, drain, batches } = byHand(1);
  add(...many(100));
  drain();
  expect(batches.flat().map(change => change.id)).toEqual(
    many(100).map(change => change.id)
  );
});

it('applies one between two frames when it takes long', () => {
  const { add, drain, batches } = byHand(40);
  add(...many(20));
  drain();
  expect(batches.every(batch => batch.length < 2)).toBe(true);
});

it('applies several between two frames when they are quick', () => {
  const { add, drain, batches } = byHand(1);
  add(...many(200));
  drain();
  expect(batches.length).toBeLessThan(50);
});

it('waits for a frame before it applies what arrived just after a change', () => {
  const { add, draw, batches } = byHand(40);
  add(insert('one'));
  draw();
  add(insert('two'));
  expect(batches.flat()).toHaveLength(1);
  draw();
  expect(batches.flat()).toHaveLength(2);
});

it('shows only the last of what would be overwritten at once', () => {
  const { add, drain, batches } = byHand(0);
  const last = replace('one', 'caller', { source: 'last' });
  add(insert('one'), insert('two', 'one'), replace('one'), last);
  drain();
  expect(batches.flat()).toEqual([
    { ...insert('one'), cell: last.cell },
    insert('two', 'one')
  ]);
});

it('keeps a removal between two changes', () => {
  const { add, drain, batches } = byHand(0);
  add(insert('one'), remove('one'), insert('one'));
  drain();
  expect(batches.flat().map(change => change.action)).toEqual([
    'insert',
    'remove',
    'insert'
  ]);
});

it('forgets a run that is dropped', () => {
  const { queue, add, drain, batches } = byHand(0);
  add(insert('one'));
  queue.drop(run);
  drain();
  expect(batches.flat()).toEqual([]);
});

it('continues after it was idle', () => {
  const { add, drain, batches } = byHand(0);
  add(insert('one'));
  drain();
  add(insert('two'));
  drain();
  expect(batches.flat()).toHaveLength(2);
});

it('does nothing once it is disposed', () => {
  const { queue, add, drain, batches } = byHand(0);
  add(insert('one'));
  queue.dispose();
  drain();
  expect(batches.flat()).toEqual([]);
});

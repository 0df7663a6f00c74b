import type { ISharedCodeCell, YNotebook } from '@jupyter/ydoc';
import type { IOutput } from '@jupyterlab/nbformat';

import { markInterruptedCards, writeFinalStatus } from '../cardStatus';
import { CALLER, cell, notebook } from './notebookFixtures';
import { runView } from './runFixtures';

const BOX =
  '<div class="jp-Explora-panel jp-mod-running" style="border:1px solid">';
const CARD = {
  'text/plain': 'Solved. 1 < 2.',
  'text/html':
    '<div class="jp-Explora-panel jp-mod-ended" style="">Solved.</div>'
};
const OTHER = { output_type: 'stream', name: 'stdout', text: 'mine\n' };

let book: YNotebook;

function outputs(): IOutput[] {
  return (cell(book, CALLER) as ISharedCodeCell).getOutputs();
}

function says(line: string): void {
  const data = { 'text/plain': line, 'text/html': `${BOX}${line}</div>` };
  const output = { output_type: 'display_data', data, metadata: {} };
  (cell(book, CALLER) as ISharedCodeCell).setOutputs([OTHER, output] as never);
  book.clearUndoHistory();
}

beforeEach(() => {
  book = notebook();
});

const ended = runView({ status: 'solved', activity: 'Solved.', card: CARD });

it('the card shows how the run ended, whatever it contained', () => {
  says('Exploring statistics: Subtask 3 of 3.');
  writeFinalStatus(book, ended);
  const [other, card] = outputs();
  expect(other).toEqual(OTHER);
  expect(card.data).toEqual(CARD);
  expect(book.canUndo()).toBe(false);
});

it('a card that already shows the end is kept', () => {
  says('Exploring statistics: Subtask 3 of 3.');
  writeFinalStatus(book, ended);
  const before = outputs();
  writeFinalStatus(book, ended);
  writeFinalStatus(book, { ...ended, card: {} });
  expect(outputs()).toEqual(before);
});

it('the card of a run whose kernel is gone has its last words', () => {
  says('Exploring statistics: Starting.');
  const activity = 'It stopped: 1 < 2.';
  writeFinalStatus(book, runView({ status: 'stopped', activity }));
  expect(outputs()[1].data).toEqual({
    'text/plain': activity,
    'text/html':
      '<div class="jp-Explora-panel" style="border:1px solid">It stopped: 1 &lt; 2.</div>'
  });
});

it('formulas in the last words of a card stay text', () => {
  says('Exploring statistics: Starting.');
  const activity = 'It stopped at $\\style{x}{y}$.';
  writeFinalStatus(book, runView({ status: 'stopped', activity }));
  const data = outputs()[1].data as Record<string, string>;
  const page = new DOMParser().parseFromString(data['text/html'], 'text/html');
  expect(page.body.textContent).toBe(activity);
  const mark = '<span>$</span>';
  expect(data['text/html']).toContain(
    `${mark}<span>\\</span>style{x}{y}${mark}`
  );
});

it('the card of a failed run looks like an error', () => {
  // Issue 14, item 24: it was in a neutral box.
  says('Exploring statistics: Starting.');
  const activity = 'There is no such library.';
  writeFinalStatus(book, runView({ status: 'failed', activity, subtasks: [] }));
  const html = String(
    (outputs()[1].data as Record<string, string>)['text/html']
  );
  expect(html).toContain('role="alert"');
  expect(html).toContain('--jp-error-color1');
});

it('the card of a run that no kernel works on does not stay active', () => {
  says('Exploring statistics: Subtask 3 of 3.');
  markInterruptedCards(book, new Set([CALLER]), 'It stopped.');
  expect(outputs()[1].data).toMatchObject({
    'text/plain': 'Exploring statistics: Subtask 3 of 3.'
  });
  markInterruptedCards(book, new Set(), 'It stopped.');
  expect(outputs()[1].data).toMatchObject({ 'text/plain': 'It stopped.' });
  const before = outputs();
  markInterruptedCards(book, new Set(), 'Again.');
  expect(outputs()).toEqual(before);
});

it('other outputs are kept', () => {
  (cell(book, CALLER) as ISharedCodeCell).setOutputs([OTHER] as never);
  writeFinalStatus(book, ended);
  expect(outputs()).toEqual([OTHER]);
});

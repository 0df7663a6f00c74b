import type { ISharedCodeCell, YNotebook } from '@jupyter/ydoc';
import type { IOutput } from '@jupyterlab/nbformat';

import { writeFinalStatus } from '../statusOutput';
import { CALLER, cell, notebook } from './notebookFixtures';
import { runView } from './runFixtures';

const BOX = '<div class="jp-Explora-panel" style="border:1px solid">';
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

const ended = runView({ status: 'solved', activity: 'Solved. 1 < 2.' });

it('the status line shows how the run ended, whatever it contained', () => {
  says('Exploring statistics: Subtask 3 of 3. See the Exploration sidebar.');
  writeFinalStatus(book, ended);
  const [other, line] = outputs();
  expect(other).toEqual(OTHER);
  expect(line.data).toEqual({
    'text/plain':
      'Exploring statistics: Solved. 1 < 2. See the Exploration sidebar.',
    'text/html': `${BOX}Exploring statistics: Solved. 1 &lt; 2. See the Exploration sidebar.</div>`
  });
  expect(book.canUndo()).toBe(false);
});

it('a status line that already shows the end is kept', () => {
  says('Exploring statistics: Solved. 1 < 2. It took a while.');
  const before = outputs();
  writeFinalStatus(book, ended);
  expect(outputs()).toEqual(before);
});

it('the status line of a run that failed at once does not mention the sidebar', () => {
  says('Exploring statistics: Starting. See the Exploration sidebar.');
  const activity = 'There is no such library.';
  writeFinalStatus(book, runView({ status: 'failed', activity, subtasks: [] }));
  expect(outputs()[1].data).toMatchObject({
    'text/plain': 'Exploring statistics: There is no such library.'
  });
});

it('the status line of a failed run looks like an error', () => {
  // Issue 14, item 24: it was in a neutral box.
  says('Exploring statistics: Starting. See the Exploration sidebar.');
  const activity = 'There is no such library.';
  writeFinalStatus(book, runView({ status: 'failed', activity, subtasks: [] }));
  const html = String(
    (outputs()[1].data as Record<string, string>)['text/html']
  );
  expect(html).toContain('role="alert"');
  expect(html).toContain('--jp-error-color1');
});

it('other outputs are kept', () => {
  (cell(book, CALLER) as ISharedCodeCell).setOutputs([OTHER] as never);
  writeFinalStatus(book, ended);
  expect(outputs()).toEqual([OTHER]);
});

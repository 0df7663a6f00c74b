import type { CodeCell } from '@jupyterlab/cells';
import { NBTestUtils } from '@jupyterlab/notebook/lib/testutils';
import { Notebook, NotebookModel } from '@jupyterlab/notebook';

import { HeadingsReader } from '../headingsReader';

const TITLE = {
  output_type: 'display_data',
  data: { 'text/html': '<h1>A title</h1>' },
  metadata: {}
};

let notebook: Notebook;
let model: NotebookModel;
let idle: (() => void)[];
let reader: HeadingsReader;

beforeEach(() => {
  notebook = NBTestUtils.createNotebook();
  model = new NotebookModel();
  notebook.model = model;
  idle = [];
  reader = new HeadingsReader(next => idle.push(next));
});

afterEach(() => {
  reader.dispose();
  notebook.dispose();
  model.dispose();
});

function followed(): CodeCell {
  model.sharedModel.insertCell(0, { cell_type: 'code', outputs: [TITLE] });
  const cell = notebook.widgets[0] as CodeCell;
  reader.track(cell);
  return cell;
}

const titles = (cell: CodeCell) => cell.headings.map(({ text }) => text);

it('reads one cell in each idle moment', () => {
  const [first, second] = [followed(), followed()];
  idle.shift()!();
  expect(titles(first)).toEqual(['A title']);
  expect(titles(second)).toEqual([]);
  idle.shift()!();
  expect(titles(second)).toEqual(['A title']);
  expect(idle).toEqual([]);
});

it('reads again when there are other outputs', () => {
  const cell = followed();
  idle.shift()!();
  cell.model.sharedModel.setOutputs([
    { ...TITLE, data: { 'text/html': '<h1>Another</h1>' } }
  ]);
  idle.shift()!();
  expect(titles(cell)).toEqual(['Another']);
});

it('skips cells without outputs', () => {
  model.sharedModel.insertCell(0, { cell_type: 'code' });
  const cell = notebook.widgets[0] as CodeCell;
  reader.track(cell);
  expect(idle).toEqual([]);
  cell.model.sharedModel.setOutputs([TITLE]);
  idle.shift()!();
  expect(titles(cell)).toEqual(['A title']);
});

it('ignores removed cells', () => {
  const cell = followed();
  model.sharedModel.deleteCell(0);
  expect(cell.isDisposed).toBe(true);
  expect(() => idle.shift()!()).not.toThrow();
});

it('stops tracking the cells of a closed view', () => {
  const { outputs } = followed().model;
  idle.shift()!();
  notebook.dispose();
  outputs.clear();
  expect(idle).toEqual([]);
});

it('reads nothing once it is disposed', () => {
  const cell = followed();
  reader.dispose();
  idle.shift()!();
  expect(titles(cell)).toEqual([]);
});

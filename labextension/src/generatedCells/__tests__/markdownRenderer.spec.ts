import type { MarkdownCell } from '@jupyterlab/cells';
import { Notebook, NotebookModel } from '@jupyterlab/notebook';
import { NBTestUtils } from '@jupyterlab/notebook/lib/testutils';
import { MessageLoop } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';

import { settled } from '../../link/__tests__/fakeKernel';
import { MarkdownRenderer } from '../markdownRenderer';

let notebook: Notebook;
let model: NotebookModel;
let cell: MarkdownCell;
let rests: (() => void)[];
let drawn: number;

beforeEach(async () => {
  notebook = NBTestUtils.createNotebook();
  model = new NotebookModel();
  notebook.model = model;
  model.sharedModel.insertCell(0, { cell_type: 'markdown', source: 'before' });
  Widget.attach(notebook, document.body);
  cell = notebook.widgets[0] as MarkdownCell;
  await cell.ready;
  MessageLoop.flush();
  rests = [];
  drawn = 0;
  new MarkdownRenderer(next => rests.push(next)).track(cell);
  MessageLoop.installMessageHook(cell, (_, message) => {
    drawn += message.type === 'update-request' ? 1 : 0;
    return true;
  });
});

afterEach(() => {
  notebook.dispose();
  model.dispose();
});

async function change(source: string): Promise<void> {
  cell.model.sharedModel.setSource(source);
  MessageLoop.flush();
  await settled();
}

it('a change is drawn at once', async () => {
  await change('after');
  const shown = cell.node.querySelector('.jp-MarkdownOutput')!;
  expect(shown.textContent).toContain('after');
});

it('quick changes are drawn together after a rest', async () => {
  await change('one');
  await change('two');
  await change('three');
  expect(drawn).toBe(1);
  rests.shift()!();
  MessageLoop.flush();
  expect(drawn).toBe(2);
  rests.shift()!();
  expect(rests).toEqual([]);
});

it('a cell that the user is editing is left alone', async () => {
  cell.rendered = false;
  await change('after');
  expect(drawn).toBe(0);
});

it('a view that was closed is not drawn', async () => {
  await change('one');
  await change('two');
  notebook.dispose();
  rests.shift()!();
  expect(rests).toEqual([]);
});

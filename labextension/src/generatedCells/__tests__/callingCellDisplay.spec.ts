import { Notebook, NotebookModel } from '@jupyterlab/notebook';
import { NBTestUtils } from '@jupyterlab/notebook/lib/testutils';
import { Widget } from '@lumino/widgets';

import { CallingCellDisplay } from '../callingCellDisplay';

let notebook: Notebook;
let model: NotebookModel;
let text: CallingCellDisplay;

const CODE = 'text/x-ipython';

/** The types of all cells, once changes are applied. */
async function types(): Promise<string[]> {
  await new Promise(resolve => setTimeout(resolve, 250));
  return notebook.widgets.slice(0, 2).map(cell => cell.model.mimeType);
}

beforeEach(() => {
  notebook = NBTestUtils.createNotebook();
  jest.spyOn(notebook, 'codeMimetype', 'get').mockReturnValue(CODE);
  model = new NotebookModel();
  notebook.model = model;
  model.sharedModel.insertCells(0, [
    { cell_type: 'code', source: '%%explora statistics\nthe median and so on' },
    { cell_type: 'code', source: 'import statistics' }
  ]);
  notebook.widgets.forEach(cell => (cell.model.mimeType = CODE));
  Widget.attach(notebook, document.body);
  text = new CallingCellDisplay(notebook);
});

afterEach(() => {
  text.dispose();
  notebook.dispose();
  model.dispose();
});

it('shows a task as wrapped prose, and code as code', async () => {
  expect(await types()).toEqual(['text/plain', CODE]);
  expect(notebook.widgets[0].editor?.getOption('lineWrap')).toBe(true);
});

it('follows what is typed', async () => {
  await types();
  model.sharedModel.cells[0].setSource('median = 2');
  model.sharedModel.cells[1].setSource('%%explora statistics\ntask');
  expect(await types()).toEqual([CODE, 'text/plain']);
});

it('keeps to prose when the language of the kernel becomes known', async () => {
  await types();
  notebook.widgets[0].model.mimeType = CODE;
  expect((await types())[0]).toBe('text/plain');
});

import { NotebookModel } from '@jupyterlab/notebook';

import plugins from '..';

describe('the package', () => {
  it('names its plugins after itself, each once', () => {
    const ids = plugins.map(plugin => plugin.id);
    expect(ids.filter(id => !id.startsWith('exploracoder-jupyter:'))).toEqual(
      []
    );
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('the test environment', () => {
  it('has the notebook model that the cells are written to', () => {
    const model = new NotebookModel();
    model.sharedModel.insertCell(0, {
      cell_type: 'code',
      id: 'one',
      source: '1'
    });
    expect(model.cells.get(0).id).toBe('one');
    model.dispose();
  });
});

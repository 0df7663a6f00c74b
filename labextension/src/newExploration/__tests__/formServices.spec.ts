/** The services behind the forms, in a notebook. */
import type { ISharedCodeCell } from '@jupyter/ydoc';
import {
  INotebookTracker,
  Notebook,
  NotebookActions,
  NotebookModel
} from '@jupyterlab/notebook';
import { NBTestUtils } from '@jupyterlab/notebook/lib/testutils';
import { Widget } from '@lumino/widgets';

import {
  FakeExplorations,
  FakeModel,
  run,
  solved
} from '../../sidebar/__tests__/fakeModel';
import { FormServices } from '../formServices';
import { failedCellError } from '../failedCell';

const ERROR = {
  output_type: 'error',
  ename: 'NameError',
  evalue: "name 'b' is not defined",
  traceback: []
};

/** A notebook whose cells were run. */
function notebook(...sources: string[]): Notebook {
  const widget = NBTestUtils.createNotebook();
  widget.model = new NotebookModel({ disableDocumentWideUndoRedo: true });
  const { sharedModel } = widget.model;
  sharedModel.deleteCellRange(0, sharedModel.cells.length);
  sharedModel.insertCells(
    0,
    sources.map((source, index) => ({
      cell_type: 'code',
      source,
      execution_count: index + 1
    }))
  );
  widget.activeCellIndex = sources.length - 1;
  return widget;
}

const code = (widget: Notebook, index: number) =>
  widget.model!.sharedModel.getCell(index) as ISharedCodeCell;

function formsOf(widget: Notebook, explorations = new FakeExplorations()) {
  const currentWidget = { content: widget, model: widget.model };
  const tracker = { currentWidget } as unknown as INotebookTracker;
  return new FormServices(tracker, explorations);
}

describe('the failed cell', () => {
  let widget: Notebook;
  const view = () => solved({ code: 'a = 2', cell: code(widget, 1).getId() });

  beforeEach(() => {
    jest.spyOn(console, 'debug').mockImplementation(() => undefined);
    widget = notebook('a = b', '%%explora statistics\ntask', 'last');
    code(widget, 0).setOutputs([ERROR]);
    code(widget, 1).setMetadata('exploracoder_jupyter', {
      fixes: code(widget, 0).getId()
    });
    widget.model!.sharedModel.clearUndoHistory();
    Widget.attach(widget, document.body);
  });
  afterEach(() => {
    widget.dispose();
    jest.restoreAllMocks();
  });

  it('has neither the error nor a number once it is replaced, until undo', () => {
    const forms = formsOf(widget);
    const cell = code(widget, 0);
    expect(forms.failedSource(view())).toBe('a = b');
    forms.replaceFailed(view());
    expect(cell.getSource()).toBe('a = 2');
    expect([cell.getOutputs(), cell.execution_count]).toEqual([[], null]);
    expect(failedCellError(widget.widgets[0])).toBeNull();
    widget.model!.sharedModel.undo();
    expect(cell.getSource()).toBe('a = b');
    expect(cell.getOutputs()).toEqual([ERROR]);
    expect(cell.execution_count).toBe(1);
    expect(failedCellError(widget.widgets[0])).toContain('NameError');
  });

  it('is selected, and the focus is there, so that it can be run', async () => {
    const focus = jest.spyOn(NotebookActions, 'focusActiveCell');
    const forms = formsOf(widget);
    const changed = jest.fn();
    forms.changed.connect(changed);
    widget.mode = 'edit';
    forms.replaceFailed(view());
    expect([widget.activeCellIndex, widget.mode]).toEqual([0, 'command']);
    expect(changed).toHaveBeenCalledTimes(1);
    await new Promise(resolve => setTimeout(resolve));
    expect(focus).toHaveBeenCalledWith(widget);
  });
});

describe('an error to explore', () => {
  const offered = (source: string, error: object = ERROR) => {
    const widget = notebook(source);
    code(widget, 0).setOutputs([error as typeof ERROR]);
    const found = failedCellError(widget.widgets[0]);
    widget.dispose();
    return found;
  };

  it('is one of the code', () => {
    expect(offered('a = b')).toBe("NameError: name 'b' is not defined");
  });

  it('is not that the user interrupted the cell', () => {
    const interrupted = { ...ERROR, ename: 'KeyboardInterrupt', evalue: '' };
    expect(offered('while True: pass', interrupted)).toBeNull();
  });

  it.each([
    '%%explora statistics\ntask',
    '\n %%explora statistics\ntask',
    '%explora solution'
  ])('is not one of an exploration: %j', source => {
    expect(offered(source)).toBeNull();
  });
});

describe('the libraries of a new exploration', () => {
  it('are those of the newest run in the notebook, unless others are entered', () => {
    const explorations = new FakeExplorations();
    const forms = formsOf(notebook('a = 1'), explorations);
    expect(forms.draft.libraries).toBe('');
    const model = new FakeModel([
      run({ key: 'old', libraries: ['pandas 2.3'] }),
      run({ key: 'new', libraries: ['networkx 3.4', 'numpy 2.1'] }),
      run({ key: 'elsewhere', libraries: ['scipy 1.15'] })
    ]);
    model.isHere = (key: string) => key !== 'elsewhere';
    explorations.become(model);
    forms.show('new');
    expect(forms.draft.libraries).toBe('networkx, numpy');
    forms.show('new', { libraries: 'sympy' });
    expect(forms.draft.libraries).toBe('sympy');
  });
});

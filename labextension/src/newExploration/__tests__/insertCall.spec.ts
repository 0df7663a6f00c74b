/** Where calling cells are written. */
import {
  Notebook,
  NotebookActions,
  NotebookModel,
  NotebookPanel
} from '@jupyterlab/notebook';
import { NBTestUtils } from '@jupyterlab/notebook/lib/testutils';

import { LOAD_CELL } from '../../sidebar/example';
import { insertCall } from '../insertCall';
import { importedBy } from '../librarySuggestions';

const CALL = '%%explora networkx\ntask';

function notebook(...sources: string[]): Notebook {
  const widget = NBTestUtils.createNotebook();
  widget.model = new NotebookModel();
  const { sharedModel } = widget.model;
  sharedModel.deleteCellRange(0, sharedModel.cells.length);
  sharedModel.insertCells(
    0,
    sources.map(source => ({ cell_type: 'code', source }))
  );
  sharedModel.clearUndoHistory();
  widget.activeCellIndex = 0;
  return widget;
}

const insert = (widget: Notebook, loaded: boolean) =>
  insertCall({ content: widget } as unknown as NotebookPanel, CALL, loaded);
const sources = (widget: Notebook) =>
  widget.model!.sharedModel.cells.map(cell => cell.getSource());

/** The sources of the cells that were run, in order. */
let ran: string[] = [];

beforeEach(() => {
  ran = [];
  jest.spyOn(NotebookActions, 'runCells').mockImplementation((_, cells) => {
    ran.push(...cells.map(cell => cell.model.sharedModel.getSource()));
    return Promise.resolve(true);
  });
  jest.spyOn(console, 'debug').mockImplementation(() => undefined);
});

describe('a calling cell is inserted', () => {
  it('below the active cell, selected, as one undo step', () => {
    const widget = notebook('a = 1', 'b = 2');
    insert(widget, false);
    expect(sources(widget)).toEqual(['a = 1', LOAD_CELL, CALL, 'b = 2']);
    expect(widget.activeCellIndex).toBe(2);
    expect(ran).toEqual([LOAD_CELL, CALL]);
    widget.model!.sharedModel.undo();
    expect(sources(widget)).toEqual(['a = 1', 'b = 2']);
  });

  it('without loading the extension again', () => {
    const loaded = notebook('a = 1');
    insert(loaded, true);
    expect(sources(loaded)).toEqual(['a = 1', CALL]);
    expect(ran).toEqual([CALL]);
    const written = notebook(LOAD_CELL, 'a = 1');
    insert(written, false);
    expect(sources(written)).toEqual([LOAD_CELL, CALL, 'a = 1']);
    expect(ran).toEqual([CALL, LOAD_CELL, CALL]);
  });

  it('above an empty cell', () => {
    const widget = notebook(' ');
    insert(widget, true);
    expect(sources(widget)).toEqual([CALL, ' ']);
    expect(widget.activeCellIndex).toBe(0);
  });

  it('below all cells of the exploration of the active cell', () => {
    const widget = notebook('%%explora x\nt', 'candidate', 'a = 1');
    const { cells } = widget.model!.sharedModel;
    const caller = cells[0].getId();
    cells[1].setMetadata('exploracoder_jupyter', {
      role: 'candidate',
      run_id: 'r',
      caller
    });
    for (const active of [0, 1]) {
      widget.activeCellIndex = active;
      insert(widget, true);
      expect(sources(widget)[2]).toBe(CALL);
    }
  });
});

it('imports are found in code', () => {
  const code = `import numpy as np, os.path  # comment
from networkx.algorithms import shortest_path
    import pandas
from . import mine
text = "import nothing"
%matplotlib inline`;
  expect(importedBy(code)).toEqual(['numpy', 'os', 'networkx', 'pandas']);
});

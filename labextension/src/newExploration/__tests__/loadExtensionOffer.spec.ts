/** What a cell that failed without the extension leads to. */
import { Notification } from '@jupyterlab/apputils';
import {
  INotebookTracker,
  Notebook,
  NotebookActions,
  NotebookModel
} from '@jupyterlab/notebook';
import { NBTestUtils } from '@jupyterlab/notebook/lib/testutils';
import { nullTranslator } from '@jupyterlab/translation';
import { waitFor } from '@testing-library/dom';

import { LOAD_CELL } from '../../sidebar/example';
import { offerToLoadExtension } from '../loadExtensionOffer';

const CALL = '%%explora networkx\ntask';
const NO_MAGIC = 'UsageError: Cell magic `%%explora` not found.\n';
const NO_PACKAGE =
  "ModuleNotFoundError: No module named 'exploracoder_jupyter'";

let notebook: Notebook;
let answer: object;

/** A cell of this source failed with this text in a kernel. */
function fail(source: string, text: string): void {
  notebook.model!.sharedModel.insertCell(0, {
    cell_type: 'code',
    source,
    outputs: [{ output_type: 'stream', name: 'stderr', text }]
  });
  const cell = notebook.widgets[0];
  (NotebookActions.executed as unknown as { emit(args: object): void }).emit({
    notebook,
    cell,
    success: false
  });
}

beforeEach(() => {
  notebook = NBTestUtils.createNotebook();
  notebook.model = new NotebookModel();
  const kernel = {
    requestExecute: () => ({
      done: Promise.resolve({
        content: { status: 'ok', user_expressions: { python: answer } }
      })
    })
  };
  const panel = { content: notebook, sessionContext: { session: { kernel } } };
  const tracker = {
    find: (test: (each: unknown) => boolean) =>
      test(panel) ? panel : undefined
  };
  offerToLoadExtension(
    tracker as unknown as INotebookTracker,
    nullTranslator.load('exploracoder_jupyter')
  );
});

const shown = () =>
  waitFor(() => {
    const [last] = Notification.manager.notifications.slice(-1);
    expect(last).toBeTruthy();
    return last;
  });

afterEach(() => {
  Notification.dismiss();
  notebook.dispose();
});

it.each([
  [CALL, NO_MAGIC],
  [LOAD_CELL, NO_PACKAGE]
])('says how to install the package after %j', async (source, text) => {
  answer = { status: 'ok', data: { 'text/plain': "'/opt/env/bin/python'" } };
  fail(source, text);
  const { message, options } = await shown();
  expect(message).toContain('"/opt/env/bin/python" -m pip install');
  expect(options.actions ?? []).toEqual([]);
});

it('offers to load the extension where the package is there', async () => {
  answer = { status: 'ok', data: { 'text/plain': "''" } };
  fail(CALL, NO_MAGIC);
  const { options } = await shown();
  expect(options.actions).toHaveLength(1);
});

it('offers to load it where the kernel does not say', async () => {
  answer = { status: 'error', ename: 'NameError' };
  fail(CALL, NO_MAGIC);
  expect((await shown()).options.actions).toHaveLength(1);
});

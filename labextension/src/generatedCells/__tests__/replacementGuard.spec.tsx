import { Notification } from '@jupyterlab/apputils';
import { NotebookModel } from '@jupyterlab/notebook';
import { nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { waitFor } from '@testing-library/dom';

import { never, settled } from '../../link/__tests__/fakeKernel';
import type {
  INotebookExplorations,
  LinkStatus
} from '../../link/explorationInterface';
import { NoAnswerError } from '../../link/kernelLink';
import type { Answer, FindReplaced, ReplacedVariable } from '../../messages';
import { ReplacementGuard } from '../replacementGuard';
import { generated } from './notebookFixtures';
import { runView } from './runFixtures';

const SALES = { name: 'sales', kind: 'pandas.DataFrame', given: true };
const TOTAL = { name: 'total', kind: 'int', given: false };

let notebook: NotebookModel;
let link: LinkStatus;
let requests: FindReplaced[];
let answer: (message: FindReplaced) => Promise<Answer>;
let changed: Signal<INotebookExplorations, void>;
let guard: ReplacementGuard;

beforeEach(() => {
  notebook = new NotebookModel();
  const mark = { given: ['sales'] };
  notebook.sharedModel.insertCells(0, [
    generated('solution', { role: 'solution', run: 'r1', mark }),
    { cell_type: 'code', id: 'inserted', source: 'sales = 1' },
    { cell_type: 'code', id: 'own', source: 'sales = 2' },
    { cell_type: 'markdown', id: 'text', source: 'sales = 1' },
    generated('candidate')
  ] as Parameters<typeof notebook.sharedModel.insertCells>[1]);
  link = 'ready';
  requests = [];
  replaces();
  const model = {
    runs: [runView({ key: 'k1', status: 'solved', code: 'sales = 1' })],
    get link() {
      return link;
    },
    request: (message: FindReplaced) => {
      requests.push(message);
      return answer(message);
    }
  } as unknown as INotebookExplorations;
  changed = new Signal(model);
  Object.assign(model, { changed });
  guard = new ReplacementGuard(
    found => (found === notebook ? model : undefined),
    nullTranslator.load('exploracoder_jupyter'),
    50
  );
  Notification.manager.dismiss();
});

afterEach(() => notebook.dispose());

/** The kernel answers with these variables. */
function replaces(...variables: ReplacedVariable[]): void {
  answer = async () => ({ type: 'replaced', request: 1, variables });
}

const cells = () => [...notebook.sharedModel.cells];
const isSolution = () =>
  cells()
    .filter(cell => guard.isSolution(cell, notebook))
    .map(cell => cell.getId());
const mayRun = (more = false) =>
  guard.mayRun(cells().slice(0, 2), notebook, more);
const dialog = () => document.querySelector('.jp-Dialog');
const messages = () =>
  Notification.manager.notifications.map(({ message }) => message);

function press(label: string): void {
  const buttons = document.querySelectorAll<HTMLElement>('.jp-Dialog button');
  [...buttons].find(({ textContent }) => textContent === label)!.click();
}

it('knows a solution by its mark or its code', () => {
  expect(isSolution()).toEqual(['solution', 'inserted']);
});

it('asks the kernel about the present source', async () => {
  cells()[0].setSource('edited');
  expect(await mayRun()).toBe(true);
  expect(requests).toEqual([
    {
      type: 'find_replaced',
      run: 'r1',
      cell: 'solution',
      code: 'edited',
      given: ['sales']
    },
    {
      type: 'find_replaced',
      run: 'k1',
      cell: 'inserted',
      code: 'sales = 1',
      given: []
    }
  ]);
  expect([dialog(), messages()]).toEqual([null, []]);
});

it('reports other variables without a question', async () => {
  replaces(TOTAL);
  expect(await mayRun()).toBe(true);
  expect(messages()).toEqual([
    'The solution replaces your variable total (int).'
  ]);
  expect(dialog()).toBeNull();
});

it.each([
  ['Cancel', false],
  ['Replace', true]
])('asks before given variables are replaced: %s', async (label, expected) => {
  replaces(TOTAL, SALES);
  const decision = mayRun(true);
  await waitFor(() => {
    expect(dialog()?.textContent).toMatch(
      /sales \(pandas.DataFrame\).*also.*total.*cancel/s
    );
  });
  expect(dialog()!.textContent!.match(/sales/g)).toHaveLength(1);
  press(label);
  expect(await decision).toBe(expected);
  expect(messages()).toEqual([]);
});

it.each<[string, LinkStatus, typeof answer]>([
  ['is not connected', 'none', never],
  ['stays connecting', 'connecting', never],
  ['is blocked', 'waiting', never],
  ['does not answer', 'ready', never],
  ['is gone', 'ready', () => Promise.reject(new NoAnswerError('closed'))],
  [
    'does not know the request',
    'ready',
    async () => ({
      type: 'done',
      request: 1,
      problem: 'no',
      said: '',
      link: ''
    })
  ]
])('runs the cells where the kernel %s', async (_, status, reply) => {
  link = status;
  answer = reply;
  expect(await mayRun()).toBe(true);
  expect(dialog()).toBeNull();
});

it('waits for a page that is connecting', async () => {
  link = 'connecting';
  replaces(TOTAL);
  const decision = mayRun();
  await settled();
  expect(requests).toEqual([]);
  link = 'ready';
  changed.emit();
  expect(await decision).toBe(true);
  expect(requests).toHaveLength(2);
});

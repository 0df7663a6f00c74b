/** The board through its user interface. */
import {
  CodeMirrorEditorFactory,
  EditorExtensionRegistry,
  ybinding
} from '@jupyterlab/codemirror';
import type { YFile } from '@jupyter/ydoc';
import { defaultRenderMime } from '@jupyterlab/rendermime/lib/testutils';
import {
  act,
  cleanup,
  fireEvent,
  render,
  screen,
  within
} from '@testing-library/react';
import axe from 'axe-core';
import * as React from 'react';

import type { CandidateView, RunView } from '../../messages';
import {
  candidate,
  FakeModel,
  run,
  subtask
} from '../../sidebar/__tests__/fakeModel';
import type { Drafts } from '../Board';
import { Board } from '../Board';
import { BoardServicesProvider } from '../boardContext';
import type { ICandidateContent } from '../candidateContents';

jest.setTimeout(60_000);

const STREAM = { output_type: 'stream', name: 'stdout' };

function content(code: string, text: string): ICandidateContent {
  const outputs = text ? [{ ...STREAM, text }] : [];
  return { code, outputs, shown: JSON.stringify(outputs) };
}

const CONTENTS = new Map([
  ['1.1', content('import a\nx = 1', 'one')],
  ['1.2', content('import a\nx = 2', 'two')],
  ['1.3', content('import a\nx = 1 + 0', 'one, again')],
  ['1.4', content('oops', 'failed')]
]);

const TRIED = [
  candidate({ id: '1.1', apis: ['lib.load', 'lib.sum'] }),
  candidate({ id: '1.2' }),
  candidate({ id: '1.3', agrees_with: '1.1' }),
  candidate({ id: '1.4', status: 'error', selectable: false, line: 'Oops' })
];

function tried(candidates: CandidateView[] = TRIED, change = {}): RunView {
  const { selected = '1.1', ...rest } = change as { selected?: string };
  return run({
    key: 'k',
    cell: 'c',
    status: 'running',
    subtasks: [
      subtask({ id: '1', status: 'done', title: 'Add', selected, candidates })
    ],
    ...rest
  });
}

const confirmed: string[] = [];

/** The application's editor: its text is that of the model. */
function editorFactory() {
  const extensions = new EditorExtensionRegistry();
  extensions.addExtension({
    name: 'shared-model-binding',
    factory: ({ model }) => {
      const { ysource } = model.sharedModel as YFile;
      return EditorExtensionRegistry.createImmutableExtension(
        ybinding({ ytext: ysource })
      );
    }
  });
  return new CodeMirrorEditorFactory({ extensions }).newInlineEditor;
}

function show(
  model: FakeModel,
  contents: ReadonlyMap<string, ICandidateContent> = CONTENTS,
  subtaskId = '1'
) {
  const drafts: Drafts = new Map();
  const services = {
    rendermime: defaultRenderMime(),
    highlight: async (code: string, element: HTMLElement) => {
      element.textContent = code;
    },
    editorFactory: editorFactory(),
    mimeType: 'text/x-ipython',
    confirmChoice: (id: string) => {
      confirmed.push(id);
      return Promise.resolve(true);
    }
  };
  const board = () => (
    <BoardServicesProvider value={services}>
      <Board
        model={model}
        run="k"
        subtask={subtaskId}
        contentsOf={() => contents}
        drafts={drafts}
      />
    </BoardServicesProvider>
  );
  const { rerender } = render(board());
  return (next: RunView) => {
    model.runs = [next];
    rerender(board());
  };
}

const column = (id: string) =>
  screen.getByRole('article', { name: new RegExp(`^Candidate ${id},`) });
const order = () =>
  screen.getAllByRole('article').map(({ dataset }) => dataset.candidate);
const key = (name: string) =>
  fireEvent.keyDown(document.activeElement!, { key: name });
const focused = () => (document.activeElement as HTMLElement).dataset.candidate;
const button = (id: string, name: string) =>
  within(column(id)).getByRole('button', { name });

beforeEach(() => {
  // Everything is in view: jsdom has no layout.
  Reflect.deleteProperty(globalThis, 'IntersectionObserver');
  confirmed.length = 0;
});
afterEach(cleanup);

describe('the columns', () => {
  it('show each candidate with its facts, and equal results together', () => {
    show(new FakeModel([tried()]));
    expect(order()).toEqual(['1.1', '1.3', '1.2', '1.4']);
    const same = screen.getByRole('list', {
      name: 'Same result: 2 candidates'
    });
    expect(within(same).getAllByRole('article')).toHaveLength(2);
    expect(column('1.1').getAttribute('aria-label')).toBe(
      'Candidate 1.1, ran, 0.12 s, carried forward, same result as 1.3, 1 of 4'
    );
    expect(column('1.1').textContent).toContain('lib.load, lib.sum');
    expect(column('1.4').textContent).toContain('failed');
  });

  it('mark what differs from the selected candidate, or from another', () => {
    show(new FakeModel([tried()]));
    const marks = (id: string) =>
      [...column(id).querySelectorAll('ins, del')].map(
        ({ tagName, textContent }) => [tagName, textContent]
      );
    expect(marks('1.1')).toEqual([]);
    expect(marks('1.2')).toEqual([
      ['DEL', 'Removed:-x = 1'],
      ['INS', 'Added:+x = 2']
    ]);
    const base = screen.getByLabelText(/Compare code with/);
    fireEvent.change(base, { target: { value: '1.2' } });
    expect(marks('1.2')).toEqual([]);
    expect(marks('1.1')[1]).toEqual(['INS', 'Added:+x = 1']);
  });

  it('have nothing that axe finds', async () => {
    show(new FakeModel([tried()]));
    const off = { enabled: false };
    const { violations } = await axe.run(document.body, {
      rules: { region: off, 'color-contrast': off }
    });
    expect(violations.map(({ id }) => id)).toEqual([]);
  });

  it('say what is not there', () => {
    show(
      new FakeModel([tried([candidate({ id: '1.1', line: '' })])]),
      new Map()
    );
    expect(column('1.1').textContent).toContain('is not in this notebook');
  });
});

describe('the keys', () => {
  it('move between columns and stay in the first and the last', () => {
    show(new FakeModel([tried()]));
    act(() => column('1.1').focus());
    key('ArrowRight');
    expect(focused()).toBe('1.3');
    key('End');
    key('ArrowRight');
    expect(focused()).toBe('1.4');
    key('Home');
    key('ArrowLeft');
    expect(focused()).toBe('1.1');
    expect(screen.getAllByRole('article').map(one => one.tabIndex)).toEqual([
      0, -1, -1, -1
    ]);
  });

  it('use a candidate, and the focus stays in its column', async () => {
    const model = new FakeModel([tried()]);
    const update = show(model);
    act(() => column('1.2').focus());
    key('u');
    expect(model.asked).toEqual(['choose 1.2']);
    await act(async () => model.answer());
    act(() => button('1.3', 'Use this one').focus());
    update(tried(TRIED, { selected: '1.3' }));
    expect(focused()).toBe('1.3');
    expect(screen.getByRole('status').textContent).toBe(
      'Candidate 1.3 is carried forward.'
    );
  });

  it('do nothing for a candidate that cannot be used', () => {
    const model = new FakeModel([tried()]);
    show(model);
    act(() => column('1.4').focus());
    key('Enter');
    expect(model.asked).toEqual([]);
  });
});

describe('an edit', () => {
  const edit = (id: string, code: string) => {
    act(() => column(id).focus());
    key('e');
    const editor = column(id).querySelector('.cm-content') as HTMLElement;
    expect(editor.contains(document.activeElement)).toBe(true);
    type(id, code);
    return editor;
  };
  /** Replace the text as typing would. */
  const type = (id: string, code: string) => {
    const { EditorView } = jest.requireActual('@codemirror/view');
    const view = EditorView.findFromDOM(column(id).querySelector('.cm-editor'));
    const changes = { from: 0, to: view.state.doc.length, insert: code };
    act(() => {
      view.dispatch({ changes });
    });
  };

  it('is run as a candidate of its own, which gets the focus', async () => {
    const model = new FakeModel([tried()]);
    const update = show(model);
    const editor = edit('1.2', 'x = 5');
    fireEvent.keyDown(editor, { key: 'Enter', shiftKey: true });
    expect(model.asked).toEqual(['edit 1.2 x = 5']);
    await act(async () => model.answer());
    expect(column('1.2').querySelector('form')).toBeNull();
    const mine = candidate({ id: '1.5', edits: '1.2', status: 'running' });
    update(tried([...TRIED, mine]));
    expect(focused()).toBe('1.5');
    update(tried([...TRIED, { ...mine, status: 'ok' }]));
    expect(screen.getByRole('status').textContent).toBe(
      'Candidate 1.5, your edit of 1.2: ran.'
    );
    expect(column('1.5').textContent).toContain('your edit of 1.2');
  });

  it('stays in the editor when it is refused, or when the user leaves it', async () => {
    const model = new FakeModel([tried()]);
    show(model);
    const editor = edit('1.2', 'x = 5');
    fireEvent.keyDown(editor, { key: 'Escape' });
    expect(focused()).toBe('1.2');
    fireEvent.click(button('1.2', 'Run'));
    await act(async () => model.answer({ problem: 'Not now.' }));
    expect(screen.getByRole('status').textContent).toBe('Not now.');
    expect(column('1.2').querySelector('form')?.textContent).toContain('x = 5');
    fireEvent.click(button('1.2', 'Cancel'));
    expect(column('1.2').querySelector('form')).toBeNull();
    expect(focused()).toBe('1.2');
  });

  it('is not run without code', () => {
    const model = new FakeModel([tried()]);
    show(model);
    edit('1.2', '  ');
    fireEvent.click(button('1.2', 'Run'));
    expect(model.asked).toEqual([]);
  });

  it('of an ended run says that the run is explored again', () => {
    const model = new FakeModel([tried(TRIED, { status: 'solved' })]);
    show(model);
    edit('1.2', 'x = 5');
    expect(column('1.2').textContent).toContain('The run has ended');
    fireEvent.click(button('1.2', 'Run and explore again'));
    expect(model.asked).toEqual(['edit 1.2 x = 5']);
  });
});

describe('what cannot be done', () => {
  /** What the head says about the keys of this board. */
  const keys = () =>
    screen
      .getByText(/^The arrow keys move/)
      .textContent?.split('candidates. ')[1];

  it('is not among the keys that are explained', () => {
    show(new FakeModel([tried()]));
    expect(keys()).toBe(
      'U uses one, E edits it, B compares the others with it.'
    );
    cleanup();
    const none = TRIED.map(each => ({ ...each, selectable: false }));
    show(new FakeModel([tried(none)]));
    expect(keys()).toBe('E edits one, B compares the others with it.');
    cleanup();
    show(new FakeModel([tried()]), new Map());
    expect(keys()).toBe('U uses one, B compares the others with it.');
  });

  const controls = () =>
    screen.queryAllByRole('button', { name: /Use this one|Edit and run/ });

  it('is explained for solutions, which the run selects', () => {
    const candidates = ['s1', 's2'].map(id =>
      candidate({ id, selectable: false })
    );
    const solution = subtask({ id: 'solution', status: 'done', candidates });
    show(new FakeModel([{ ...tried(), solution }]), CONTENTS, 'solution');
    expect(order()).toEqual(['s1', 's2']);
    expect(controls()).toEqual([]);
    expect(screen.getByText(/selects its solution by the check/)).toBeTruthy();
    expect(keys()).toBe('B compares the others with one.');
  });

  it('is explained when the kernel or the calling cell is gone', () => {
    const model = new FakeModel([tried()]);
    model.link = 'none';
    show(model);
    expect(controls()).toEqual([]);
    expect(screen.getByText(/is not connected/)).toBeTruthy();
    expect(keys()).toBe('B compares the others with one.');
    cleanup();
    const ended = new FakeModel([tried(TRIED, { status: 'solved' })]);
    ended.callerThere = false;
    show(ended);
    expect(controls()).toEqual([]);
    expect(screen.getByText(/its cell is not in this notebook/)).toBeTruthy();
  });

  it('is asked about for an ended run, which is explored again', async () => {
    const model = new FakeModel([tried(TRIED, { status: 'solved' })]);
    show(model);
    await act(async () => void fireEvent.click(button('1.2', 'Use this one…')));
    expect(confirmed).toEqual(['1.2']);
    expect(model.asked).toEqual(['choose 1.2']);
  });
});

it('renders again only the columns that have changed', () => {
  const many = Array.from({ length: 60 }, (_, n) =>
    candidate({ id: `1.${n + 1}` })
  );
  const model = new FakeModel([tried(many)]);
  const update = show(model, new Map());
  const changed: Node[] = [];
  const observer = new MutationObserver(records =>
    changed.push(...records.map(({ target }) => target))
  );
  const list = screen.getByRole('list', { name: 'Groups of candidates' });
  observer.observe(list, {
    subtree: true,
    childList: true,
    characterData: true,
    attributes: true
  });
  update(
    tried(many.map((one, n) => (n === 7 ? { ...one, seconds: 9 } : { ...one })))
  );
  observer.takeRecords().forEach(({ target }) => changed.push(target));
  observer.disconnect();
  expect(changed.length).toBeGreaterThan(0);
  expect(changed.every(node => column('1.8').contains(node))).toBe(true);
});

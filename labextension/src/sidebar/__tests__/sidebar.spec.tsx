/**
 * Tests of the sidebar through its user interface.
 */
import {
  act,
  cleanup,
  fireEvent,
  render,
  screen
} from '@testing-library/react';
import axe from 'axe-core';
import * as React from 'react';

import type { INotebookExplorations } from '../../link/explorationInterface';
import type { RunView } from '../../messages';
import { RunClock } from '../runClock';
import { formatTime } from '../../shared/format';
import { DEFAULTS } from '../sidebarPreferences';
import type { IPreferences } from '../sidebarPreferences';
import type { IActiveCell } from '../../explorations/activeCell';
import { Sidebar } from '../Sidebar';
import { candidateStatusLabel } from '../../shared/statusLabels';
import {
  candidate,
  FakeHostServices,
  FakeModel,
  plan,
  run,
  solved,
  subtask,
  trace
} from './fakeModel';

jest.mock('../../shared/statusLabels', () => {
  const labels = jest.requireActual('../../shared/statusLabels');
  return {
    ...labels,
    candidateStatusLabel: jest.fn(labels.candidateStatusLabel)
  };
});

const NOW = 1_700_000_042;

function show(
  model: INotebookExplorations | null,
  preferences: Partial<IPreferences> = {}
): FakeHostServices {
  const host = new FakeHostServices();
  host.hasNotebook = model !== null;
  render(
    <Sidebar
      model={model}
      host={host}
      preferences={{ ...DEFAULTS, ...preferences }}
      clock={new RunClock(() => NOW)}
    />
  );
  return host;
}

const button = (name: string | RegExp) => screen.getByRole('button', { name });
const noButton = (name: string | RegExp) =>
  expect(screen.queryByRole('button', { name })).toBeNull();
const press = (name: string | RegExp) => fireEvent.click(button(name));
const rows = () => screen.getAllByRole('treeitem');
const row = (name: RegExp) => screen.getByRole('treeitem', { name });
/** Click on a row's text with the mouse. */
const click = (name: RegExp) =>
  fireEvent.click(row(name).querySelector('.jp-Explora-label')!);
const key = (name: string) =>
  fireEvent.keyDown(document.activeElement!, { key: name });
const disabled = (element: HTMLElement) =>
  element.getAttribute('aria-disabled') === 'true';
const answer = (model: FakeModel, done = {}) =>
  act(async () => model.answer(done));
const update = (model: FakeModel, ...runs: ReturnType<typeof run>[]) =>
  act(() => model.show(...runs));

/** The violations found by axe. Contrast checks need a real browser, and landmarks belong to the page. */
const found = async () => {
  const off = { enabled: false };
  const { violations } = await axe.run(document.body, {
    rules: { region: off, 'color-contrast': off }
  });
  return violations.map(({ id, nodes }) => [id, nodes.map(n => n.html)]);
};

/** Timers are disabled except where a test has its own clock; jsdom renders nothing. */
beforeEach(() => {
  jest.spyOn(window, 'setInterval').mockReturnValue(0 as never);
  jest.spyOn(HTMLCanvasElement.prototype, 'getContext').mockReturnValue(null);
});
afterEach(() => {
  cleanup();
  jest.restoreAllMocks();
});

/**
 * Runs of other notebooks: with a trace that can be opened, one that cannot, one that was cut off, a deleted one, and
 * none.
 */
const EARLIER = [
  trace({
    link: '../other/a.ipynb',
    started: NOW - 1,
    outcome: 'solved',
    libraries: 'networkx 3.4',
    cost: '2 calls, 1,234 tokens, 3 executions, 1:05'
  }),
  trace({
    link: '',
    path: '/elsewhere/b.ipynb',
    started: NOW - 2,
    outcome: 'running'
  }),
  trace({
    link: '',
    path: '/elsewhere/c.ipynb',
    started: NOW - 3,
    outcome: 'cut off',
    resume: '--resume /elsewhere/c.ipynb'
  }),
  trace({ link: '', path: '/elsewhere/d.ipynb', started: NOW - 4, gone: true }),
  trace({ link: '', path: '', started: NOW - 5, outcome: 'stopped' })
];

describe('the calling cell', () => {
  it('has no link once it was deleted', () => {
    // Issue 14, item 22: the link stayed, and a notice that it leads to nothing.
    const model = new FakeModel([run()]);
    show(model);
    press('Go to cell');
    expect(model.asked).toEqual(['focus {}']);
    model.callerThere = false;
    update(model, run());
    noButton('Go to cell');
  });

  it('a message that requires no action disappears', () => {
    jest.useFakeTimers();
    const model = new FakeModel([run()]);
    model.cellsThere = false;
    show(model);
    click(/Find the shortest path/);
    expect(screen.getByText(/no longer in this notebook/)).toBeTruthy();
    act(() => jest.advanceTimersByTime(30_000));
    expect(screen.queryByText(/no longer in this notebook/)).toBeNull();
    jest.useRealTimers();
  });
});

it('a run that failed is announced as an error', () => {
  // Issue 14, item 24
  const activity = 'Library "netwrkx" is not installed.';
  show(new FakeModel([run({ status: 'failed', subtasks: [], activity })]));
  expect(screen.getByRole('alert').textContent).toContain(activity);
});

describe('accessibility', () => {
  const states: [string, INotebookExplorations | null][] = [
    ['no notebook', null],
    ['not loaded', Object.assign(new FakeModel(), { link: 'none' })],
    ['nothing explored', new FakeModel()],
    ['starting', new FakeModel([run({ status: 'starting', subtasks: [] })])],
    [
      'reviewing',
      new FakeModel([run({ status: 'reviewing', subtasks: [subtask()] })])
    ],
    ['running', new FakeModel([run({ notices: ['One.', 'Two.'] })])],
    ['waiting', Object.assign(new FakeModel([run()]), { link: 'waiting' })],
    ['solved', new FakeModel([run(), solved({ key: 'r2' })])],
    ['failed', new FakeModel([run({ status: 'failed', subtasks: [] })])]
  ];

  it.each(states)('holds when %s', async (_, model) => {
    show(model, { foldDone: false });
    expect(await found()).toEqual([]);
  });

  it('holds for open rows, forms and the editor', async () => {
    show(new FakeModel([run()]), { foldDone: false });
    click(/APIs/);
    click(/networkx.Graph/);
    click(/Find the shortest/);
    press('Retry with a hint…');
    press('Edit the plan');
    expect(await found()).toEqual([]);
  });

  it('holds for earlier explorations, here and elsewhere', async () => {
    const model = new FakeModel([run()]);
    model.traces = EARLIER;
    show(model);
    expect(await found()).toEqual([]);
  });
});

describe('earlier explorations', () => {
  const shown = () => {
    const list = screen.getByRole('list', { name: 'Earlier explorations' });
    return [...list.children].map(({ textContent }) => textContent);
  };

  it('are one list, newest first, with or without traces', () => {
    const model = new FakeModel();
    model.traces = [...EARLIER].reverse();
    show(model);
    const [here, elsewhere, cut, lost, none] = shown();
    expect(here).toContain(`Solved, ${formatTime(NOW - 1)}`);
    expect(here).toContain('networkx 3.4');
    expect(here).toContain('2 calls, 1,234 tokens, 3 executions, 1:05');
    expect(elsewhere).toContain('Running');
    expect(elsewhere).toContain('/elsewhere/b.ipynb');
    expect(cut).toContain('Cut off');
    expect(cut).toContain('To resume: %%explora --resume /elsewhere/c.ipynb');
    expect(lost).toContain('/elsewhere/d.ipynb');
    expect(lost).toContain('The trace file no longer exists.');
    expect(none).toContain('Stopped');
  });

  it('are opened if the page can, otherwise their path can be copied', () => {
    const model = new FakeModel();
    model.traces = EARLIER;
    const host = show(model);
    press(/a\.ipynb/);
    const [copy] = screen.getAllByRole('button', { name: 'Copy the path' });
    fireEvent.click(copy);
    expect(host.done).toEqual([
      'open ../other/a.ipynb',
      'copy /elsewhere/b.ipynb'
    ]);
    expect(button('Copied')).toBe(copy);
    const lost = screen
      .getByText('The trace file no longer exists.')
      .closest('li');
    expect(lost?.querySelector('button')).toBeNull();
  });

  it('list no run twice', () => {
    const model = new FakeModel([
      run({ trace: '/elsewhere/b.ipynb', trace_link: '' }),
      run({
        key: 'r2',
        trace: '/notes/x.ipynb',
        trace_link: '../other/a.ipynb'
      })
    ]);
    model.traces = EARLIER;
    show(model);
    const text = shown().join();
    expect(shown()).toHaveLength(3);
    expect(text).not.toMatch(/[ab]\.ipynb/);
  });
});

describe('before the first run', () => {
  it('asks for a notebook where there is none', () => {
    show(null);
    expect(screen.getByText(/Open a notebook/)).toBeTruthy();
    noButton('Insert an example');
  });

  it.each(['none', 'connecting', 'waiting', 'other-version'])(
    'shows both cells to type where the link is %s',
    link => {
      const host = show(Object.assign(new FakeModel(), { link }));
      expect(screen.getByText('%load_ext exploracoder_jupyter')).toBeTruthy();
      press('Insert an example');
      press('Copy');
      expect(host.done[0]).toBe('insert false');
      expect(host.done[1]).toMatch(
        /^copy %load_ext exploracoder_jupyter\n\n%%explora /
      );
      expect(button('Copied')).toBeTruthy();
    }
  );

  it('breaks no line of the example within an option', () => {
    show(new FakeModel());
    const kept = document.querySelector('.jp-Explora-empty pre span');
    expect(kept?.textContent).toBe('--check');
  });

  it('says what is tried first, and that the example may use a model', () => {
    show(new FakeModel());
    expect(screen.getByText(/^A whole program is tried first/)).toBeTruthy();
    expect(screen.getByText(/also works without a model/)).toBeTruthy();
  });

  it('shows one cell to type where it is loaded', () => {
    const host = show(new FakeModel());
    expect(screen.queryByText(/load_ext/)).toBeNull();
    press('Insert an example');
    expect(host.done).toEqual(['insert true']);
  });

  it('lists older traces', () => {
    const model = new FakeModel();
    model.traces = [trace()];
    const host = show(model);
    press(/old\.ipynb/);
    expect(host.done).toEqual(['open explorations/old.ipynb']);
  });

  it('shows task, start and outcome of a trace', () => {
    const model = new FakeModel();
    const known = { started: NOW - 86_400, task: 'Make `G`' };
    model.traces = [trace({ ...known, outcome: 'unsolved' })];
    show(model);
    const text = button(/old\.ipynb/).textContent;
    expect(text).toContain(`Unsolved, ${formatTime(NOW - 86_400)}`);
    expect(text).toContain('Make G');
  });

  it('lists the newest traces in sight, and exports after them', () => {
    const model = new FakeModel();
    model.traces = ['1', '2', '3', '4', '5', '6', '6-selected'].map(
      (name, index) =>
        trace({ link: `explorations/${name}.ipynb`, changed: NOW + index })
    );
    show(model);
    const links = () =>
      screen
        .getAllByRole('button', { name: /explorations/ })
        .map(
          ({ textContent }) => textContent?.match(/explorations\/(.*)\./)?.[1]
        );
    expect(screen.getByText('Earlier explorations')).toBeTruthy();
    expect(document.querySelector('details')?.open).toBe(true);
    expect(links()).toEqual(['6', '5', '4', '3', '2']);
    press('Show all (2 more)');
    expect(links().slice(-2)).toEqual(['1', '6-selected']);
    expect(button(/Export of/)).toBeTruthy();
  });

  it('shows the keyboard shortcut', () => {
    show(new FakeModel());
    expect(
      screen.getByText(/Press Ctrl\+Shift\+Y in the notebook to come here/)
    ).toBeTruthy();
  });
});

describe('a run', () => {
  it('shows its task, libraries, model, cost and time', () => {
    show(new FakeModel([run()]));
    for (const text of [
      /shortest path from a to c/,
      'networkx 3.4',
      'qwen3-coder',
      '0:42'
    ]) {
      expect(screen.getByText(text)).toBeTruthy();
    }
    const tokens = screen.getByRole('progressbar', { name: 'Token budget' });
    expect(tokens.getAttribute('aria-valuenow')).toBe('6');
    expect(tokens.getAttribute('aria-valuetext')).toBe(
      '12,345 of 200,000 tokens'
    );
    expect(screen.getByText('12K of 200K tokens')).toBeTruthy();
    const time = screen.getByRole('progressbar', { name: 'Time budget' });
    expect(time.getAttribute('aria-valuetext')).toBe('0:42 of 15:00');
  });

  it('shows what was spent in money, if the model has a price', () => {
    show(new FakeModel([run({ cost: '0.04 of 1.00 EUR' })]));
    expect(document.body.textContent).toContain(
      '6 executions, 0.04 of 1.00 EUR'
    );
  });

  it('shows no calls and tokens without a language model', () => {
    show(new FakeModel([run({ model: 'offline' })]));
    expect(document.body.textContent).toContain('6 executions');
    expect(document.body.textContent).not.toMatch(/model call|token/);
  });

  it('truncates a long task until it is expanded', () => {
    show(new FakeModel([run({ task: 'word '.repeat(100) + 'end' })]));
    expect(screen.queryByText(/end$/)).toBeNull();
    press('Show all');
    expect(screen.getByText(/end$/)).toBeTruthy();
  });

  it('follows the model', () => {
    const model = new FakeModel([run()]);
    show(model);
    expect(screen.getByText('Running')).toBeTruthy();
    update(model, solved());
    expect(screen.getByText('Solved')).toBeTruthy();
    expect(screen.getByText('1:05')).toBeTruthy();
  });

  it('updates its time while it is active', () => {
    jest.restoreAllMocks();
    jest.useFakeTimers({ now: 1000 * NOW });
    try {
      const clock = new RunClock();
      const model = new FakeModel([run()]);
      render(
        <Sidebar
          {...{ model, clock }}
          host={new FakeHostServices()}
          preferences={DEFAULTS}
        />
      );
      act(() => void jest.advanceTimersByTime(3000));
      expect(screen.getByText('0:45')).toBeTruthy();
    } finally {
      jest.useRealTimers();
    }
  });

  it('limits the rate of announcements', () => {
    jest.useFakeTimers();
    try {
      const model = new FakeModel([run({ activity: 'First.' })]);
      show(model);
      const announced = () => screen.getAllByRole('status')[0].textContent;
      act(() => void jest.advanceTimersByTime(10));
      update(model, run({ activity: 'Second.' }));
      update(model, run({ activity: 'Third.' }));
      expect(announced()).toContain('First.');
      act(() => void jest.advanceTimersByTime(10_000));
      expect(announced()).toContain('Third.');
    } finally {
      jest.useRealTimers();
    }
  });

  it('shows the newest, and others when they are picked', () => {
    const model = new FakeModel([
      solved({ task: 'Old task' }),
      solved({ key: 'r2', task: 'New task' })
    ]);
    show(model);
    const shown = () => document.querySelector('.jp-Explora-task p');
    expect(shown()?.textContent).toBe('New task');
    press(/Old task/);
    expect(screen.getByText('This is an earlier run.')).toBeTruthy();
    press('Show the latest');
    expect(screen.queryByText('This is an earlier run.')).toBeNull();
    expect(screen.getByText('Runs of this session')).toBeTruthy();
    press(/Old task/);
    update(model, ...model.runs, run({ key: 'r3', task: 'Newest task' }));
    expect(shown()?.textContent).toBe('Newest task');
  });

  it('distinguishes runs of one task', () => {
    const origin = 'step 2 again, hint: use `dijkstra`';
    show(new FakeModel([solved(), solved({ key: 'r2', origin })]));
    const list = screen.getByRole('list', { name: 'Runs of this session' });
    const [again, first] = [...list.children].map(row => row.textContent);
    expect(again).toContain('step 2 again, hint: use dijkstra');
    expect(first).not.toContain('again');
    expect(first).toContain(`Solved, ${formatTime(1_700_000_000)}`);
    expect(first).toContain('its check passed');
  });

  describe('whose calling cell is not in the notebook', () => {
    const shown = () => document.querySelector('.jp-Explora-task p');

    it('is shown and controlled, with a note', () => {
      const model = new FakeModel([
        solved(),
        run({ key: 'r2', status: 'reviewing', subtasks: [subtask()] })
      ]);
      show(Object.assign(model, { here: false }));
      expect(screen.getByText(/not in this notebook/)).toBeTruthy();
      noButton('Go to cell');
      press('Stop');
      press('Begin');
      expect(model.asked).toEqual(['stop', 'plan Build the graph']);
    });

    it('offers no new run of a cell that is not there', () => {
      const model = Object.assign(new FakeModel([solved()]), {
        here: false,
        cellsLeft: false
      });
      show(model, { foldDone: false });
      click(/1\.1/);
      noButton(/Use this one/);
      noButton(/Remove/);
      press('Insert solution');
      expect(model.asked.at(-1)).toBe('insert r1');
    });

    it('is not the newest where another page shows it', () => {
      const theirs = run({ key: 'r2', owner: 'page-2', task: 'Theirs' });
      const model = new FakeModel([solved({ task: 'Mine' }), theirs]);
      model.isHere = (key: string) => key === 'r1';
      model.isOwned = (key: string) => key === 'r1';
      show(model);
      expect(shown()?.textContent).toBe('Mine');
      expect(screen.getByText('1 run in progress')).toBeTruthy();
    });
  });

  describe('of several', () => {
    const first = run({ cell: 'c1', run_id: 'id-1', task: 'First task' });
    const second = run({
      key: 'r2',
      cell: 'c2',
      run_id: 'id-2',
      task: 'Second task'
    });
    const again = run({
      ...first,
      key: 'r3',
      run_id: 'id-3',
      status: 'solved'
    });
    const nowhere: IActiveCell = { cell: 'other', run: '', caller: '' };
    const shown = () => document.querySelector('.jp-Explora-task p');

    function at(model: FakeModel, ...places: IActiveCell[]): void {
      const host = show(model);
      for (const place of places) {
        host.activeCell = place;
        act(() => model.changed.emit());
      }
    }

    it.each([
      ['calling cell', { ...nowhere, cell: 'c1' }],
      ['cells', { cell: 'x', run: 'id-1', caller: 'c1' }],
      ['cells after a restart', { cell: 'x', run: 'lost', caller: 'c1' }]
    ])('is the one whose %s the user is on', (_, place) => {
      at(new FakeModel([first, second]), place);
      expect(shown()?.textContent).toBe('First task');
    });

    it('is the newest that a cell called', () => {
      at(new FakeModel([first, again, second]), { ...nowhere, cell: 'c1' });
      expect(document.querySelector('strong')?.textContent).toBe('Solved');
    });

    it('stays shown when the user moves elsewhere, until a new one starts', () => {
      const model = new FakeModel([first, second]);
      at(model, { ...nowhere, cell: 'c1' }, nowhere);
      expect(shown()?.textContent).toBe('First task');
      const third = run({ key: 'r4', cell: 'c4', task: 'Third task' });
      update(model, first, second, third);
      expect(shown()?.textContent).toBe('Third task');
    });

    it('shows that others are in progress, and leads to them', async () => {
      const model = new FakeModel([first, second]);
      show(model);
      expect(screen.getByText('2 runs in progress')).toBeTruthy();
      const select = screen.getByRole('combobox', { name: 'Run to show' });
      expect((select as HTMLSelectElement).value).toBe('r2');
      expect(await found()).toEqual([]);
      fireEvent.change(select, { target: { value: 'r1' } });
      expect(shown()?.textContent).toBe('First task');
      update(model, first, { ...second, status: 'stopped' });
      expect(screen.queryByRole('combobox')).toBeNull();
    });

    it('shows that too if the shown run has ended', () => {
      show(new FakeModel([first, solved({ ...second, status: 'solved' })]));
      expect(screen.getByText('1 run in progress')).toBeTruthy();
    });
  });

  it('announces its end at once', () => {
    jest.useFakeTimers();
    try {
      const model = new FakeModel([run({ activity: 'First.' })]);
      show(model);
      act(() => void jest.advanceTimersByTime(10));
      update(model, run({ activity: 'Trying solution s1.' }));
      update(model, solved());
      expect(screen.getAllByRole('status')[0].textContent).toBe(
        'Solved. The solution ran and its check passed.'
      );
    } finally {
      jest.useRealTimers();
    }
  });

  it('shows the estimate until it has ended', () => {
    const model = new FakeModel([run({ estimate: 'about 7 calls' })]);
    show(model);
    expect(screen.getByText(/about 7 calls/)).toBeTruthy();
    update(model, solved({ estimate: 'about 7 calls' }));
    expect(screen.queryByText(/about 7 calls/)).toBeNull();
  });

  it('shows hostile text as text', () => {
    const evil =
      '<img src=x onerror="document.title=1"><script>document.title=2</script>';
    show(
      new FakeModel([
        run({
          task: evil,
          activity: evil,
          model: evil,
          libraries: [evil],
          notices: [evil],
          subtasks: [
            subtask({
              title: evil,
              status: 'exploring',
              reason: evil,
              hint: evil,
              apis: [
                {
                  path: evil,
                  kind: evil,
                  signature: evil,
                  doc: evil,
                  recommended: true,
                  used: true
                }
              ],
              candidates: [candidate({ id: evil, line: evil, status: evil })],
              selected: evil,
              why: [evil]
            })
          ]
        })
      ])
    );
    click(/APIs/);
    expect(document.querySelector('img, script')).toBeNull();
    expect(document.body.textContent!.split(evil).length).toBeGreaterThan(10);
  });
});

describe('controls', () => {
  it('stop: acknowledged at once, until the run has stopped', async () => {
    const model = new FakeModel([run()]);
    show(model);
    press('Stop');
    expect(model.asked).toEqual(['stop']);
    expect(disabled(button('Stopping…'))).toBe(true);
    await answer(model);
    expect(disabled(button('Stopping…'))).toBe(true);
    update(model, run({ status: 'stopped', ended: NOW }));
    noButton(/Stop/);
  });

  it('explore: offered while a whole program is tried', async () => {
    const model = new FakeModel([run({ may_explore_now: true })]);
    show(model);
    press('Explore step by step');
    expect(model.asked).toEqual(['explore']);
    await answer(model);
    update(model, run());
    noButton('Explore step by step');
  });

  it('report a problem, and can be retried', async () => {
    const model = new FakeModel([run()]);
    show(model);
    press('Stop');
    await answer(model, { problem: 'The kernel does not answer.' });
    expect(screen.getByText('The kernel does not answer.')).toBeTruthy();
    expect(disabled(button('Stop'))).toBe(false);
    press('Close this message');
    expect(screen.queryByText('The kernel does not answer.')).toBeNull();
  });

  it('are enabled again if nothing happens', async () => {
    jest.useFakeTimers();
    try {
      const model = new FakeModel([run()]);
      show(model);
      press('Stop');
      await answer(model);
      act(() => void jest.advanceTimersByTime(10_000));
      expect(disabled(button('Stop'))).toBe(false);
    } finally {
      jest.useRealTimers();
    }
  });

  it('are not shown if the kernel cannot handle them', () => {
    const model = Object.assign(new FakeModel([run()]), { link: 'none' });
    show(model);
    noButton('Stop');
    noButton('Edit the plan');
    click(/Find the shortest/);
    noButton('Skip subtask');
    expect(
      screen.getByText(/restarted.*Run %load_ext exploracoder_jupyter/)
    ).toBeTruthy();
  });

  it('show that they wait for the running cell', () => {
    show(Object.assign(new FakeModel([run()]), { link: 'waiting' }));
    expect(screen.getByText(/after the running cell finishes/)).toBeTruthy();
    expect(button('Stop')).toBeTruthy();
  });

  it('skip: of the subtask that is explored only', async () => {
    const model = new FakeModel([run()]);
    show(model);
    click(/Build the graph/);
    noButton('Skip subtask');
    click(/Find the shortest/);
    press('Skip subtask');
    expect(model.asked.at(-1)).toBe('skip 2');
    expect(disabled(button('Skipping…'))).toBe(true);
    await answer(model);
    const [first, second, third] = plan();
    update(
      model,
      run({ subtasks: [first, { ...second, status: 'skipped' }, third] })
    );
    noButton(/Skip/);
  });

  it('compare: with two executed candidates, also where nothing can be controlled', () => {
    const model = new FakeModel([run()]);
    const host = show(model);
    click(/Find the shortest/);
    press('Compare');
    expect(host.done).toEqual([`compare ${model.runs[0].key} 2`]);
    model.link = 'none';
    update(model, run());
    press('Compare');
    noButton('Skip subtask');
    const [first, second] = plan();
    const candidates = second.candidates.slice(0, 1);
    update(model, run({ subtasks: [first, { ...second, candidates }] }));
    noButton('Compare');
  });

  it('retry: Enter sends the hint, the focus returns', async () => {
    const model = new FakeModel([run()]);
    show(model);
    click(/Find the shortest/);
    press('Retry with a hint…');
    const field = screen.getByRole('textbox', { name: /Hint/ });
    expect(document.activeElement).toBe(field);
    fireEvent.change(field, { target: { value: ' use dijkstra ' } });
    fireEvent.submit(field.closest('form')!);
    expect(model.asked.at(-1)).toBe('retry 2 use dijkstra');
    expect(disabled(button('Retrying…'))).toBe(true);
    expect(document.activeElement).toBe(row(/Find the shortest/));
    await answer(model, { said: 'Going back.' });
    expect(screen.getByText('Going back.')).toBeTruthy();
  });

  it('retry: Escape closes', () => {
    const model = new FakeModel([run()]);
    show(model);
    click(/Find the shortest/);
    press('Retry with a hint…');
    key('Escape');
    expect(screen.queryByRole('textbox')).toBeNull();
    expect(document.activeElement).toBe(row(/Find the shortest/));
    expect(model.asked).not.toContain('retry 2');
  });

  it('retry: not for planned subtasks, nor for the solution', () => {
    show(new FakeModel([run()]));
    click(/Store its length/);
    noButton(/Retry/);
    cleanup();
    show(new FakeModel([solved()]));
    click(/^Solution/);
    noButton(/Retry/);
  });

  it('choose: another candidate that ran', async () => {
    const model = new FakeModel([run()]);
    show(model, { foldDone: false });
    click(/1\.3/);
    noButton(/Use this one/);
    click(/1\.2/);
    noButton(/Use this one/);
    click(/1\.1/);
    press('Use this one instead');
    expect(model.asked.at(-1)).toBe('choose 1.1');
    expect(disabled(button('Changing…'))).toBe(true);
  });

  it('choose: asks first where it replaces a run that has ended', () => {
    const model = new FakeModel([solved()]);
    show(model, { foldDone: false });
    click(/1\.1/);
    press('Use this one instead…');
    expect(screen.getByText(/including the solution/)).toBeTruthy();
    key('Escape');
    expect(model.asked).not.toContain('choose 1.1');
    press('Use this one instead…');
    press('Explore again');
    expect(model.asked.at(-1)).toBe('choose 1.1');
  });

  it('retry: warns that it replaces a run that has ended', () => {
    show(new FakeModel([run()]));
    click(/Find the shortest/);
    press('Retry with a hint…');
    expect(screen.queryByText(/including the solution/)).toBeNull();
    cleanup();
    show(new FakeModel([solved()]));
    click(/Find the shortest/);
    press('Retry with a hint…');
    expect(screen.getByText(/including the solution/)).toBeTruthy();
  });

  it('insert: reports that the solution is there already', () => {
    const model = Object.assign(new FakeModel([solved()]), {
      inserts: 'there'
    });
    show(model);
    press('Insert solution');
    expect(screen.getByText(/already in the notebook/)).toBeTruthy();
  });

  it('go to the solution where it is in the notebook', () => {
    const model = Object.assign(new FakeModel([solved()]), {
      solutionThere: true
    });
    show(model);
    noButton('Insert solution');
    press('Go to solution');
    expect(model.asked).toEqual(['focus {"solution":true}']);
    expect(screen.queryByText(/already in the notebook/)).toBeNull();
  });

  it('go to the solution where only its code is in the notebook', () => {
    const model = Object.assign(new FakeModel([solved()]), {
      solutionThere: true,
      cellsThere: false,
      inserts: 'there'
    });
    show(model);
    press('Go to solution');
    expect(model.asked.at(-1)).toBe('insert r1');
    expect(screen.queryByText(/already in the notebook/)).toBeNull();
  });

  it('insert: for a stopped run the code that ran, not as the primary action', () => {
    show(new FakeModel([solved({ status: 'stopped' })]));
    noButton('Insert solution');
    expect(button('Insert code that ran').className).not.toContain('primary');
    press('Insert code that ran');
    expect(screen.getByText(/has not been run as a whole/)).toBeTruthy();
  });

  it('edit the plan: not while the solution is written', () => {
    const done = plan().map(step => ({ ...step, status: 'done' as const }));
    show(new FakeModel([run({ subtasks: done })]));
    noButton('Edit the plan');
  });

  it('insert, export, open and remove a run that has ended', async () => {
    const model = new FakeModel([solved()]);
    const host = show(model);
    noButton('Stop');
    noButton('Edit the plan');
    press('Insert solution');
    expect(model.asked).toEqual(['insert r1']);
    press('Open trace');
    press('Export');
    await answer(model, { said: 'Written.', link: 'explorations/b.ipynb' });
    press('Open explorations/b.ipynb');
    expect(host.done).toEqual([
      'open explorations/a.ipynb',
      'open explorations/b.ipynb'
    ]);
    press('Remove exploration…');
    press('Remove');
    expect(model.asked.slice(-2)).toEqual(['remove r1 true', 'focus {}']);
    expect(screen.getByText(/Removed 5 cells/)).toBeTruthy();
  });

  it('apply a patch, and undo it once it is applied', () => {
    const model = new FakeModel([{ ...solved(), patch: 'ready' }]);
    show(model);
    noButton('Insert solution');
    press('Apply patch');
    expect(model.asked).toEqual(['change apply']);
    cleanup();
    const applied = new FakeModel([{ ...solved(), patch: 'applied' }]);
    show(applied);
    press('Undo patch');
    expect(applied.asked).toEqual(['change undo']);
  });

  it('remove the solution too, if that is wanted', () => {
    const model = new FakeModel([solved()]);
    show(model);
    press('Remove exploration…');
    fireEvent.click(
      screen.getByRole('checkbox', { name: 'Keep the solution' })
    );
    press('Remove');
    expect(model.asked).toContain('remove r1 false');
  });

  it('remove: the focus goes to the notebook, whatever was deleted there', () => {
    const model = Object.assign(new FakeModel([run({ status: 'stopped' })]), {
      cellsThere: false
    });
    const host = show(model);
    press('Remove exploration');
    expect(host.done).toEqual(['focus notebook']);
  });

  it('remove: not where there are no cells', () => {
    const failed = run({ status: 'failed', subtasks: [] });
    show(Object.assign(new FakeModel([failed]), { cellsLeft: false }));
    noButton(/Remove/);
    cleanup();
    show(new FakeModel([run({ status: 'failed' })]));
    expect(button('Remove exploration')).toBeTruthy();
  });

  it('remove: not once it is done, until undo', () => {
    const model = new FakeModel([solved()]);
    show(model);
    const left = (cellsLeft: boolean) =>
      act(() => Object.assign(model, { cellsLeft }).changed.emit());
    left(false);
    noButton(/Remove/);
    left(true);
    expect(button('Remove exploration…')).toBeTruthy();
  });

  it('remove: not where another tab has the cells', () => {
    show(Object.assign(new FakeModel([solved()]), { mine: false }));
    noButton(/Remove/);
  });
});

describe('the plan', () => {
  it('shows the keys that lead to a cell and back', () => {
    show(new FakeModel([run()]));
    expect(screen.getByText(/Ctrl\+Shift\+Y to come back/)).toBeTruthy();
  });

  it('collapses finished subtasks, unless the setting is off', () => {
    show(new FakeModel([run()]));
    expect(row(/Build the graph/).getAttribute('aria-expanded')).toBe('false');
    expect(row(/Find the shortest/).getAttribute('aria-expanded')).toBe('true');
    expect(row(/Store its length/).getAttribute('aria-expanded')).toBeNull();
    cleanup();
    show(new FakeModel([run()]), { foldDone: false });
    expect(row(/Build the graph/).getAttribute('aria-expanded')).toBe('true');
  });

  it('shows outcome, observation, time and reasons as text', () => {
    show(new FakeModel([run()]), { foldDone: false });
    expect(row(/1\.2/).textContent).toContain('failed');
    expect(row(/1\.2/).textContent).toContain("TypeError: 'int' object");
    expect(row(/1\.3/).textContent).toContain('0.12 s');
    expect(row(/1\.3/).textContent).toContain('Why: ran; agrees with 1 other');
    expect(row(/2\.1r1/).textContent).toContain('repair 1 of 2.1');
    expect(row(/1\.4/).textContent).toContain('same code as another');
    expect(row(/Find the shortest/).textContent).toContain(
      'Hint: weights matter'
    );
  });

  it('shows APIs, and signature and description when they are opened', () => {
    show(new FakeModel([run()]), { foldDone: false });
    click(/APIs: 2 recommended, 1 used/);
    expect(row(/networkx\.Graph/).textContent).toContain('used');
    expect(row(/networkx\.Graph/).title).toContain('Base class');
    click(/networkx\.Graph/);
    expect(row(/networkx\.Graph/).textContent).toContain(
      'Graph(incoming_graph_data=None'
    );
    expect(row(/networkx\.Graph/).textContent).toContain('Base class');
  });

  it('reveals the cell by click and Enter, and reports a missing one', () => {
    const model = new FakeModel([run()]);
    show(model);
    click(/Find the shortest/);
    key('ArrowDown');
    key('Enter');
    expect(model.asked).toEqual([
      'reveal {"subtask":"2"}',
      'focus {"candidate":"2.1"}'
    ]);
    model.cellsThere = false;
    key('Enter');
    expect(
      screen.getByText('The cell is no longer in this notebook.')
    ).toBeTruthy();
    click(/Store its length/);
    expect(screen.getByText('This step has not started yet.')).toBeTruthy();
    expect(document.querySelector('.jp-mod-problem')).toBeNull();
  });

  it('shows text between backticks as code', () => {
    show(new FakeModel([run({ notices: ['See `%explora config`.'] })]));
    const codes = [...document.querySelectorAll('code')];
    expect(codes.map(({ textContent }) => textContent)).toEqual([
      '%explora config',
      'length'
    ]);
    expect(document.body.textContent).not.toContain('`');
  });

  it.each(['```python\na = 1\n```\nand more', 'Use ```python a = 1'])(
    'shows a fenced block as code: %j',
    task => {
      show(new FakeModel([run({ task, subtasks: [] })]));
      expect(document.querySelector('code')?.textContent).toBe('a = 1');
      expect(document.body.textContent).not.toContain('`');
    }
  );

  it('distinguishes a failed check from a crash', () => {
    const tried = subtask({
      status: 'exploring',
      candidates: [candidate({ status: 'check failed', line: '' })]
    });
    show(new FakeModel([run({ subtasks: [tried] })]));
    expect(row(/1\.1/).textContent).toContain('ran, but its check failed');
  });

  it('does not show a failed candidate as carried forward', () => {
    const kept = subtask({
      status: 'failed',
      candidates: [candidate({ status: 'error', selectable: false })],
      selected: '1.1',
      why: ['none ran; its failure is kept']
    });
    show(new FakeModel([run({ subtasks: [kept] })]));
    expect(row(/1\.1/).textContent).toContain('none ran');
    expect(row(/1\.1/).textContent).not.toMatch(/carried forward|selected/);
  });

  it('moves by keys', () => {
    show(new FakeModel([run()]));
    const names = () => rows().map(item => item.dataset.key);
    const at = () => (document.activeElement as HTMLElement).dataset.key;
    act(() => rows()[0].focus());
    key('ArrowRight');
    expect(names().slice(0, 3)).toEqual([
      'subtask 1',
      'apis 1',
      'candidate 1 1.1 0'
    ]);
    key('ArrowRight');
    expect(at()).toBe('apis 1');
    key('ArrowRight');
    key('ArrowRight');
    expect(at()).toBe('api 1 networkx.Graph');
    key('ArrowLeft');
    expect(at()).toBe('apis 1');
    key('ArrowLeft');
    expect(names()).not.toContain('api 1 networkx.Graph');
    key('ArrowLeft');
    expect(at()).toBe('subtask 1');
    key('ArrowLeft');
    expect(names().slice(0, 2)).toEqual(['subtask 1', 'subtask 2']);
    key('End');
    expect(at()).toBe('subtask 3');
    key('ArrowUp');
    expect(at()).toBe('candidate 2 2.2 0');
    key('Home');
    expect(at()).toBe('subtask 1');
    key(' ');
    expect(names()).toContain('apis 1');
    expect(rows().filter(item => item.tabIndex === 0)).toHaveLength(1);
  });

  it('shows a few of many candidates, and all when asked', () => {
    const candidates = Array.from({ length: 200 }, (_, index) =>
      candidate({ id: `1.${index + 1}` })
    );
    const many = subtask({
      status: 'exploring',
      candidates,
      selected: '1.150'
    });
    show(new FakeModel([run({ subtasks: [many] })]));
    expect(rows().length).toBeLessThan(20);
    expect(row(/1\.150/)).toBeTruthy();
    click(/Show all candidates .187 more/);
    expect(rows()).toHaveLength(201);
  });
});

describe('the plan in review', () => {
  const steps = () =>
    screen
      .getAllByRole('textbox')
      .map(field => (field as HTMLTextAreaElement).value);
  const review = () => {
    const subtasks = ['Load', 'Count', 'Draw'].map((title, index) =>
      subtask({ id: String(index + 1), title })
    );
    return run({ status: 'reviewing', subtasks });
  };

  it('is edited, then begins', async () => {
    const model = new FakeModel([review()]);
    show(model);
    expect(steps()).toEqual(['Load', 'Count', 'Draw']);
    press('Move step 3 up');
    press('Remove step 1');
    fireEvent.change(screen.getByRole('textbox', { name: 'Step 2' }), {
      target: { value: 'Count words' }
    });
    press('Add a step');
    const last = screen.getByRole('textbox', { name: 'Step 3' });
    expect(document.activeElement).toBe(last);
    fireEvent.change(last, { target: { value: '  Save\nall ' } });
    press('Begin');
    expect(model.asked).toEqual(['plan Draw | Count words | Save all']);
    expect(disabled(button('Beginning…'))).toBe(true);
    await answer(model);
    update(model, run());
    noButton(/Begin/);
    expect(screen.getByRole('tree')).toBeTruthy();
  });

  it('begins as it is, and never without a step', () => {
    const model = new FakeModel([review()]);
    show(model);
    [1, 1, 1].forEach(number => press(`Remove step ${number}`));
    expect(disabled(button('Begin'))).toBe(true);
    cleanup();
    show(model);
    press('Begin');
    expect(model.asked).toEqual(['plan Load | Count | Draw']);
  });

  it('moves and adds by keys, and keeps the focus', () => {
    show(new FakeModel([review()]));
    const first = screen.getByRole('textbox', { name: 'Step 1' });
    act(() => first.focus());
    fireEvent.keyDown(first, { key: 'ArrowDown', altKey: true });
    expect(steps()).toEqual(['Count', 'Load', 'Draw']);
    expect((document.activeElement as HTMLTextAreaElement).value).toBe('Load');
    key('Enter');
    expect(steps()).toEqual(['Count', 'Load', '', 'Draw']);
    expect((document.activeElement as HTMLTextAreaElement).value).toBe('');
  });

  it('is edited while the run is active, without started steps', async () => {
    const [first, second, third] = plan();
    const fourth = subtask({ id: '4', title: 'Draw it' });
    const model = new FakeModel([
      run({ subtasks: [first, second, third, fourth] })
    ]);
    show(model);
    press('Edit the plan');
    expect(steps()).toEqual(['Store its length in `length`', 'Draw it']);
    update(
      model,
      run({
        subtasks: [first, second, { ...third, status: 'exploring' }, fourth]
      })
    );
    expect(steps()).toEqual(['Draw it']);
    expect(screen.getByText(/1 step has started/)).toBeTruthy();
    press('Apply');
    expect(model.asked).toEqual(['plan Draw it']);
    expect(button('Applying…').getAttribute('aria-disabled')).toBe('true');
  });

  it('is left as it was on Escape', () => {
    const model = new FakeModel([run()]);
    show(model);
    press('Edit the plan');
    fireEvent.keyDown(screen.getByRole('textbox'), { key: 'Escape' });
    expect(screen.queryByRole('textbox')).toBeNull();
    expect(model.asked).toEqual([]);
  });
});

describe('rows', () => {
  it('are rendered again only if they changed', () => {
    const model = new FakeModel([run()]);
    show(model, { foldDone: false });
    const rendered = jest.mocked(candidateStatusLabel);
    rendered.mockClear();
    const copy: RunView = JSON.parse(JSON.stringify(model.runs[0]));
    copy.subtasks[1].candidates[2].status = 'ok';
    update(model, copy);
    expect(rendered.mock.calls.map(([status]) => status)).toEqual(['ok']);
  });
});

describe('the settings', () => {
  it('do not stay open when the last notebook is closed', () => {
    const host = new FakeHostServices();
    const sidebar = (model: INotebookExplorations | null) => (
      <Sidebar
        model={model}
        host={host}
        preferences={DEFAULTS}
        clock={new RunClock(() => NOW)}
      />
    );
    const { rerender } = render(sidebar(new FakeModel([run()])));
    act(() => host.forms.show('settings'));
    screen.getByRole('heading', { name: 'Settings' });
    rerender(sidebar(null));
    expect(host.forms.page).toBe('runs');
  });
});

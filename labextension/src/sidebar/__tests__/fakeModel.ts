/**
 * A fake model that records the controls sent to it, and sample runs.
 */
import { Signal } from '@lumino/signaling';

import { NoAnswerError } from '../../link/kernelLink';
import { EMPTY_TASK, ITask } from '../../newExploration/callingCellSource';
import type {
  SidebarPage,
  IFormServices
} from '../../newExploration/formServicesToken';
import type { ILibraryNames } from '../../newExploration/librarySuggestions';
import type {
  Control,
  INotebookExplorations,
  IExplorations,
  InsertResult,
  LinkStatus
} from '../../link/explorationInterface';
import type {
  Answer,
  CandidateView,
  Done,
  RunView,
  SubtaskView,
  ToKernel,
  TraceView
} from '../../messages';
import type { IHostServices } from '../hostServices';
import type { IActiveCell } from '../../explorations/activeCell';

const TAKEN: Done = {
  type: 'done',
  request: 0,
  problem: '',
  said: '',
  link: ''
};

export class FakeModel implements INotebookExplorations {
  runs: RunView[] = [];
  traces: TraceView[] = [];
  link: LinkStatus = 'ready';
  notebook = 'a.ipynb';
  subshells = true;
  busy = false;
  isDisposed = false;
  readonly changed: Signal<INotebookExplorations, void> = new Signal(this);

  /** The controls that were sent, as text. */
  asked: string[] = [];
  mine = true;
  here = true;
  cellsLeft = true;
  inserts: InsertResult = 'inserted';
  solutionThere = false;
  cellsThere = true;
  callerThere = true;

  constructor(runs: RunView[] = []) {
    this.runs = runs;
  }

  /** Answer the oldest unanswered control. */
  answer(done: Partial<Done> = {}): void {
    const waiting = this.waiting.shift();
    if (!waiting) {
      throw new Error('Nothing was asked.');
    }
    waiting.resolve({ ...TAKEN, ...done });
    this.changed.emit();
  }

  show(...runs: RunView[]): void {
    this.runs = runs;
    this.changed.emit();
  }

  dispose(): void {
    this.isDisposed = true;
    Signal.clearData(this);
  }

  isOwned(_: string): boolean {
    return this.mine;
  }
  isHere(_: string): boolean {
    return this.here;
  }
  hasCaller(): boolean {
    return this.here && this.callerThere;
  }
  hasCells(): boolean {
    return this.cellsLeft;
  }

  hasSolution(): boolean {
    return this.solutionThere;
  }

  isPending(run: string, control: Control, of = ''): boolean {
    const name = [run, control, of].join(' ');
    return this.waiting.some(waiting => waiting.name === name);
  }

  stop(run: string): Promise<Done> {
    return this.ask(run, 'stop');
  }
  explore(run: string): Promise<Done> {
    return this.ask(run, 'explore');
  }
  skip(run: string, subtask: string): Promise<Done> {
    return this.ask(run, 'skip', subtask);
  }
  retry(run: string, subtask: string, hint = ''): Promise<Done> {
    return this.ask(run, 'retry', subtask, hint);
  }
  choose(run: string, candidate: string): Promise<Done> {
    return this.ask(run, 'choose', candidate);
  }
  edit(run: string, candidate: string, code: string): Promise<Done> {
    return this.ask(run, 'edit', candidate, code);
  }
  plan(run: string, titles: string[]): Promise<Done> {
    return this.ask(run, 'plan', '', titles.join(' | '));
  }
  exportTrace(run: string): Promise<Done> {
    return this.ask(run, 'export');
  }
  changeRepository(run: string, action: 'apply' | 'undo'): Promise<Done> {
    return this.ask(run, 'change', '', action);
  }

  request(): Promise<Answer> {
    return Promise.reject(new Error('No kernel.'));
  }

  reveal(_: string, cell: object, focus = true): boolean {
    const how = focus ? 'focus' : 'reveal';
    this.asked.push(`${how} ${JSON.stringify(cell)}`);
    return this.cellsThere;
  }
  remove(run: string, options: { keepSolution?: boolean } = {}): number {
    this.asked.push(`remove ${run} ${options.keepSolution}`);
    return this.cellsThere ? 5 : 0;
  }
  insertSolution(run: string): InsertResult {
    this.asked.push(`insert ${run}`);
    return this.inserts;
  }

  private ask(
    run: string,
    control: Control,
    of = '',
    more = ''
  ): Promise<Done> {
    this.asked.push([control, of, more].filter(Boolean).join(' '));
    const done = new Promise<Done>(resolve =>
      this.waiting.push({ name: [run, control, of].join(' '), resolve })
    );
    this.changed.emit();
    return done;
  }

  private waiting: { name: string; resolve: (done: Done) => void }[] = [];
}

export function trace(change: Partial<TraceView> = {}): TraceView {
  const link = change.link ?? 'explorations/old.ipynb';
  return {
    link,
    path: `/notes/${link}`,
    gone: false,
    changed: 1_700_000_042,
    started: null,
    task: '',
    outcome: '',
    libraries: '',
    cost: '',
    resume: '',
    ...change
  };
}

export class FakeExplorations implements IExplorations {
  current: INotebookExplorations | null = null;
  readonly currentChanged: Signal<IExplorations, INotebookExplorations | null> =
    new Signal(this);

  become(model: INotebookExplorations | null): void {
    this.current = model;
    this.currentChanged.emit(model);
  }

  forPanel(): undefined {
    return undefined;
  }
}

export class FakeFormServices implements IFormServices {
  page: SidebarPage = 'runs';
  draft = EMPTY_TASK;
  version = 0;
  readonly changed: Signal<IFormServices, void> = new Signal(this);
  names: ILibraryNames = { imported: [], installed: [] };
  explored: ITask[] = [];
  show(page: SidebarPage, draft: Partial<ITask> = this.draft): void {
    this.page = page;
    this.draft = { ...EMPTY_TASK, ...draft };
    this.version += 1;
    this.changed.emit();
  }
  keepDraft(draft: ITask): void {
    this.draft = draft;
  }
  libraryNames(): Promise<ILibraryNames> {
    return Promise.resolve(this.names);
  }
  explore(task: ITask): boolean {
    this.explored.push(task);
    return true;
  }
  loaded = 0;
  loadExtension(): void {
    this.loaded += 1;
  }
  /** Answers requests. */
  kernel: (message: ToKernel) => Promise<Answer> = () =>
    Promise.reject(new NoAnswerError('none'));
  request(message: ToKernel): Promise<Answer> {
    return this.kernel(message);
  }
  followed: string[] = [];
  followUp({ key }: RunView): void {
    this.followed.push(key);
  }
  failed: string | null = null;
  failedSource(): string | null {
    return this.failed;
  }
  replaceFailed({ code }: RunView): void {
    this.failed = code;
  }
}

export class FakeHostServices implements IHostServices {
  forms = new FakeFormServices();
  hasNotebook = true;
  activeCell: IActiveCell | null = null;
  shortcut = 'Ctrl+Shift+Y';
  done: string[] = [];
  open(link: string): void {
    this.done.push(`open ${link}`);
  }
  insertExample(loaded: boolean): void {
    this.done.push(`insert ${loaded}`);
  }
  focusNotebook(): void {
    this.done.push('focus notebook');
  }
  compare(run: string, subtask: string): void {
    this.done.push(`compare ${run} ${subtask}`);
  }
  copy(text: string): void {
    this.done.push(`copy ${text}`);
  }
}

export function candidate(change: Partial<CandidateView> = {}): CandidateView {
  return {
    id: '1.1',
    round: 0,
    repairs: null,
    status: 'ok',
    seconds: 0.12,
    line: '3',
    selectable: true,
    apis: [],
    edits: null,
    agrees_with: '',
    ...change
  };
}

export function subtask(change: Partial<SubtaskView> = {}): SubtaskView {
  return {
    id: '1',
    title: 'Build the graph',
    status: 'planned',
    reason: '',
    hint: '',
    apis: [],
    candidates: [],
    selected: null,
    why: [],
    ...change
  };
}

export function run(change: Partial<RunView> = {}): RunView {
  return {
    key: 'r1',
    run_id: 'id-1',
    cell: 'cell-1',
    owner: 'page-1',
    status: 'running',
    setup: '',
    task: 'Build a weighted graph and find the shortest path from a to c',
    origin: '',
    libraries: ['networkx 3.4'],
    model: 'qwen3-coder',
    isolation: 'namespaces: no network',
    activity: 'Subtask 2: running candidate 2.2.',
    started: 1_700_000_000,
    ended: null,
    waited: 0,
    waiting_since: null,
    now: null,
    estimate: '',
    calls: 7,
    tokens: 12345,
    executions: 6,
    cost: '',
    budget_tokens: 200000,
    budget_seconds: 900,
    subtasks: plan(),
    may_explore_now: false,
    solution: null,
    code: null,
    patch: '',
    notices: [],
    card: {},
    trace: '/home/me/explorations/a.ipynb',
    trace_link: 'explorations/a.ipynb',
    ...change
  };
}

/** One finished subtask, one that is being explored and one that is planned. */
export function plan(): SubtaskView[] {
  return [
    subtask({
      status: 'done',
      apis: [
        {
          path: 'networkx.Graph',
          kind: 'class',
          signature: 'Graph(incoming_graph_data=None, **attr)',
          doc: 'Base class for undirected graphs.',
          recommended: true,
          used: true
        },
        {
          path: 'networkx.DiGraph',
          kind: 'class',
          signature: '',
          doc: '',
          recommended: true,
          used: false
        }
      ],
      candidates: [
        candidate(),
        candidate({
          id: '1.2',
          status: 'error',
          line: "TypeError: 'int' object is not iterable",
          selectable: false
        }),
        candidate({ id: '1.3', line: 'Graph with 3 nodes and 3 edges' }),
        candidate({ id: '1.4', status: 'duplicate', seconds: null, line: '' })
      ],
      selected: '1.3',
      why: ['ran', 'agrees with 1 other', 'informative output']
    }),
    subtask({
      id: '2',
      title: 'Find the shortest path',
      status: 'exploring',
      hint: 'weights matter',
      candidates: [
        candidate({
          id: '2.1',
          status: 'timeout',
          seconds: 60,
          line: 'stopped after 60 s',
          selectable: false
        }),
        candidate({
          id: '2.1r1',
          round: 1,
          repairs: '2.1',
          status: 'ok',
          line: "['a', 'b', 'c']"
        }),
        candidate({
          id: '2.2',
          status: 'running',
          seconds: null,
          line: '',
          selectable: false
        })
      ]
    }),
    subtask({ id: '3', title: 'Store its length in `length`' })
  ];
}

/** A solved run. */
export function solved(change: Partial<RunView> = {}): RunView {
  return run({
    status: 'solved',
    ended: 1_700_000_065,
    activity: 'Solved. The solution ran and its check passed.',
    code: 'length = 5',
    solution: subtask({
      id: 'solution',
      title: 'Solution',
      status: 'done',
      candidates: [candidate({ id: 's1' })],
      selected: 's1',
      why: ['its check passed']
    }),
    subtasks: plan().map(step => ({ ...step, status: 'done' as const })),
    ...change
  });
}

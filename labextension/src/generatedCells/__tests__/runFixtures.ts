import type { CandidateView, RunView } from '../../messages';

export function candidateView(
  id: string,
  fields: Partial<CandidateView> = {}
): CandidateView {
  return {
    id,
    round: 0,
    repairs: null,
    status: 'ok',
    seconds: 0.1,
    line: '',
    selectable: true,
    apis: [],
    edits: null,
    agrees_with: '',
    ...fields
  };
}

/** A run whose first subtask is done. */
export function runView(fields: Partial<RunView> = {}): RunView {
  return {
    key: 'k1',
    run_id: 'r1',
    cell: 'caller',
    owner: 'me',
    status: 'running',
    setup: '',
    task: 'a task',
    origin: '',
    libraries: ['statistics'],
    model: 'a model',
    isolation: '',
    activity: '',
    started: 1,
    ended: null,
    waited: 0,
    waiting_since: null,
    now: null,
    estimate: '',
    calls: 0,
    tokens: 0,
    executions: 0,
    cost: '',
    budget_tokens: null,
    budget_seconds: null,
    subtasks: [
      {
        id: '1',
        title: 'first',
        status: 'done',
        reason: '',
        hint: '',
        apis: [],
        candidates: [candidateView('1.1'), candidateView('1.2')],
        selected: '1.1',
        why: ['<b>it ran</b>']
      }
    ],
    may_explore_now: false,
    solution: null,
    code: null,
    patch: '',
    notices: [],
    card: {},
    trace: '',
    trace_link: '',
    ...fields
  };
}

/** The line below the card that shows where an active run is. */
import { nullTranslator } from '@jupyterlab/translation';

import type { CandidateView, RunView, SubtaskView } from '../../messages';
import { runView } from '../../generatedCells/__tests__/runFixtures';
import { RunClock } from '../../sidebar/runClock';
import { Pulse, stepOf } from '../pulse';

const trans = nullTranslator.load('exploracoder_jupyter');
const section = (...states: string[]) =>
  ({
    candidates: states.map(status => ({ status }) as CandidateView)
  }) as SubtaskView;
const none = { subtasks: [], solution: null, calls: 0 };

it.each<[Partial<RunView>, string]>([
  [{ ...none, status: 'starting' }, 'library'],
  [{ ...none, calls: 1 }, 'plan'],
  [{ ...none, subtasks: [section()] }, 'plan'],
  [{ ...none, subtasks: [section('running'), section()] }, 'try'],
  [{ ...none, solution: section('running') }, 'try'],
  [{ ...none, solution: section('ok') }, 'check'],
  [{ ...none, status: 'solved' }, 'done']
])('the step follows from the state', (fields, step) => {
  expect(stepOf(runView({ status: 'running', ...fields }))).toBe(step);
});

it('the time runs on without a message, until the end', () => {
  jest.useFakeTimers();
  let now = 100;
  const pulse = new Pulse(trans, new RunClock(() => now));
  const run = runView({ status: 'running', started: 95, ended: null, now: 95 });
  pulse.show(run);
  const before = pulse.node.textContent;
  now = 108;
  jest.advanceTimersByTime(1_000);
  expect(pulse.node.textContent).not.toBe(before);
  expect(pulse.node.querySelectorAll('[aria-current="step"]')).toHaveLength(1);
  pulse.show({ ...run, status: 'solved' });
  expect(pulse.node.hidden).toBe(true);
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
});

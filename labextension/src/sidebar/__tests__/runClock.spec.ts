/** Durations when the browser's clock differs from the kernel's. */
import { RunClock } from '../runClock';
import { run } from './fakeModel';

const START = 1_700_000_000;

const clockAt = (now: number) => new RunClock(() => now);

const starting = run({ status: 'starting', started: START, subtasks: [] });

it.each([
  ['ahead', START + 3600],
  ['behind', START - 3600]
])('counts from the start where it is %s', (_, seen) => {
  const clock = new RunClock(() => now);
  let now = seen;
  expect(clock.elapsed(starting)).toBe(0);
  now += 5;
  expect(clock.elapsed({ ...starting, status: 'running' })).toBe(5);
  const later = { ...starting, status: 'running' as const, started: START + 2 };
  expect(clock.elapsed(later)).toBe(5);
});

it('uses the kernel’s start time for a run that is seen later', () => {
  expect(clockAt(START + 42).elapsed(run({ started: START }))).toBe(42);
  expect(clockAt(START - 42).elapsed(run({ started: START }))).toBe(0);
});

it('computes the duration of an ended run from the kernel’s times', () => {
  const ended = run({ status: 'solved', started: START, ended: START + 7 });
  expect(clockAt(0).elapsed(ended)).toBe(7);
});

it('does not count the time that it waited for the user', () => {
  const waiting = run({
    status: 'reviewing',
    started: START,
    waiting_since: START + 5
  });
  expect(clockAt(START + 60).elapsed(waiting)).toBe(5);
  const on = run({ started: START, waited: 55 });
  expect(clockAt(START + 62).elapsed(on)).toBe(7);
  expect(clockAt(0).elapsed({ ...on, ended: START + 64 })).toBe(9);
});

it('returns null before the start', () => {
  expect(clockAt(0).elapsed(run({ started: null }))).toBeNull();
});

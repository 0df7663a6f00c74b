/** Run times when the browser's clock differs from the kernel's. */
import { RunClock } from '../../sidebar/runClock';
import { KnownRuns } from '../knownRuns';
import { runView } from '../../generatedCells/__tests__/runFixtures';

const START = 1_700_000_000;

let browser: number;
let runs: KnownRuns;
let clock: RunClock;

beforeEach(() => {
  runs = new KnownRuns(() => browser);
  clock = new RunClock(() => browser);
});

/** Receive the run's state that the kernel sent at this time by its clock; the message is delayed. */
function receive(now: number, fields = {}, takes = 0): void {
  browser = now + ahead + takes;
  runs.put(runView({ started: START, now, ...fields }));
}

const elapsed = () => clock.elapsed(runs.get('k1')!);

let ahead: number;

it.each([3600, -3600, 0])(
  'elapsed time does not jump where the browser is %s s ahead',
  seconds => {
    // Issue 14, item 20: it ran ahead and dropped at the end.
    ahead = seconds;
    receive(START + 20);
    expect(elapsed()).toBe(20);
    browser += 5;
    expect(elapsed()).toBe(25);
    receive(START + 26, {}, 2);
    expect(elapsed()).toBe(28);
    receive(START + 30, { status: 'solved', ended: START + 30 });
    expect(elapsed()).toBe(30);
  }
);

it('does not count the time that a run waits for the user', () => {
  ahead = 100;
  receive(START + 5);
  receive(START + 9, { status: 'reviewing', waiting_since: START + 6 });
  browser += 50;
  expect(elapsed()).toBe(6);
  receive(START + 60, { waited: 53 });
  expect(elapsed()).toBe(7);
});

it('stops when the kernel is gone', () => {
  // Issue 14, item 20: after a restart of the kernel it jumped.
  ahead = 100;
  receive(START + 12);
  browser += 1;
  runs.markLost('The kernel ended.');
  browser += 3600;
  expect(elapsed()).toBe(13);
});

it('stops if the kernel is gone while the plan is reviewed', () => {
  ahead = -100;
  receive(START + 9, { status: 'reviewing', waiting_since: START + 6 });
  browser += 60;
  runs.markLost('The kernel ended.');
  browser += 3600;
  expect(elapsed()).toBe(6);
});

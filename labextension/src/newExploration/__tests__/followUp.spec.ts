/** What a follow-up starts from. */
import { solved } from '../../sidebar/__tests__/fakeModel';
import { setupAfter } from '../followUp';

it('a follow-up starts from everything that the run started from, and its solution', () => {
  const first = solved({ task: 'First\ntask', code: 'a = 1' });
  expect(setupAfter(first)).toBe('# First\n# task\na = 1');
  const second = solved({
    setup: setupAfter(first),
    task: 'Next',
    code: 'b = a'
  });
  expect(setupAfter(second)).toBe('# First\n# task\na = 1\n\n# Next\nb = a');
});

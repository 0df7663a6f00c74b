/** The lines that differ between two texts. */
import { lineDiff } from '../lineDiff';

it('lines are compared', () => {
  const shown = (before: string, after: string) =>
    lineDiff(before, after).map(({ sign, text }) => sign + text);
  expect(shown('a\nb\nc', 'a\nx\nc\nd')).toEqual([
    ' a',
    '-b',
    '+x',
    ' c',
    '+d'
  ]);
  expect(shown('', 'a')).toEqual(['-', '+a']);
});

/** The words of a comment. */
import { commentAt } from '../wordsAtCursor';

it('a comment is read as words, with its neighbouring lines', () => {
  const lines = ['a = 1', '# Find the', '  ## shortest path', 'b = 2'];
  expect(commentAt(lines, 2)).toBe('Find the\nshortest path');
  expect(commentAt(lines, 0)).toBe('');
});

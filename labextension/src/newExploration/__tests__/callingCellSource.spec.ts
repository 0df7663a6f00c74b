/**
 * Sources of calling cells. A Python test parses the same cells as the magic does (tests/unit/ipython_extension/test_call_cells).
 */
import { callingCell, EMPTY_TASK } from '../callingCellSource';
import cases from './callingCells.json';

describe('a calling cell', () => {
  it.each(cases.map(each => [each.what, each] as const))(
    'is written for: %s',
    (_, { given, source }) => {
      expect(callingCell({ ...EMPTY_TASK, ...given })).toBe(source);
    }
  );
});

/** What is read of the candidates from the cells of a notebook. */
import type { YCodeCell, YNotebook } from '@jupyter/ydoc';

import {
  generated,
  notebook
} from '../../generatedCells/__tests__/notebookFixtures';
import { CandidateContents } from '../candidateContents';

const stream = (text: string) => ({
  output_type: 'stream',
  name: 'stdout',
  text
});

function add(
  made: YNotebook,
  candidate: string,
  options: {
    role?: string;
    run?: string;
    text?: string;
    source?: string;
    mark?: object;
  } = {}
): YCodeCell {
  const { role = 'candidate', run, text, source, mark } = options;
  made.addCell(
    generated(`explora-${role}-${candidate}`, {
      role,
      run,
      source: source ?? `%%explored ${candidate}\ncode ${candidate}`,
      outputs: text ? [stream(text)] : [],
      mark: { ...mark, candidate }
    }) as never
  );
  return made.cells.at(-1) as YCodeCell;
}

const read = (cells: CandidateContents) =>
  [...cells.read()].map(([id, { code, outputs }]) => [
    id,
    code,
    outputs.map(output => output.text).join()
  ]);

it('reads the code and outputs of the candidates of one run', () => {
  const made = notebook();
  add(made, '1.1', { text: 'one' });
  add(made, '1.2', { run: 'another', text: 'two' });
  add(made, 's1', { role: 'solution', source: 'solved' });
  const cells = new CandidateContents(made, 'r1');
  expect(read(cells)).toEqual([
    ['1.1', 'code 1.1', 'one'],
    ['s1', 'solved', '']
  ]);
});

it('keeps the identity of what has not changed, and reads again what has', () => {
  const made = notebook();
  const cell = add(made, '1.1');
  add(made, '1.2', { text: 'two' });
  const cells = new CandidateContents(made, 'r1');
  const [first, second] = [...cells.read().values()];
  cell.setOutputs([stream('one')]);
  expect(cells.read().get('1.1')).not.toBe(first);
  expect(cells.read().get('1.1')?.outputs[0].text).toBe('one');
  expect(cells.read().get('1.2')).toBe(second);
});

it('keeps what was seen of a removed cell, and the outputs of a candidate that became the solution', () => {
  const made = notebook();
  add(made, '1.1', { text: 'one' });
  add(made, 's1', { text: 'solved', source: '%%explored s1\nprint()' });
  const cells = new CandidateContents(made, 'r1');
  cells.read();
  made.deleteCellRange(3, 5);
  add(made, 's1', { role: 'solution', source: 'print()' });
  expect(read(cells)).toEqual([
    ['1.1', 'code 1.1', 'one'],
    ['s1', 'print()', 'solved']
  ]);
});

it('does not take the joined code of a stopped run for its last candidate', () => {
  const made = notebook();
  const joined = { source: 'code 1.1\ncode 2.1', mark: { status: 'stopped' } };
  add(made, '2.1', { role: 'solution', ...joined });
  add(made, '2.1', { text: 'two' });
  const cells = new CandidateContents(made, 'r1');
  const expected = [['2.1', 'code 2.1', 'two']];
  expect(read(cells)).toEqual(expected);
  (made.cells.at(-2) as YCodeCell).setOutputs([stream('run')]);
  expect(read(cells)).toEqual(expected);
});

it('does not trust what cannot be shown safely', () => {
  const made = notebook();
  const cell = add(made, '1.1');
  const data = { 'application/javascript': 'alert(1)' };
  cell.setOutputs([{ output_type: 'display_data', data, metadata: {} }]);
  const [{ outputs }] = [...new CandidateContents(made, 'r1').read().values()];
  expect(JSON.stringify(outputs)).not.toContain('javascript');
});

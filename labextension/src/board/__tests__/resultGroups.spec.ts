/** What a board compares: which candidates, in which groups, of which run, and the differences in their code. */
import type { CandidateView } from '../../messages';
import { candidate, run, subtask } from '../../sidebar/__tests__/fakeModel';
import type { ICandidateContent } from '../candidateContents';
import { compareCode } from '../../shared/codeDiff';
import {
  canCompare,
  executedCandidates,
  followRun,
  groupByResult
} from '../resultGroups';

const content = (text: string): ICandidateContent => ({
  code: text,
  outputs: [{ output_type: 'stream', name: 'stdout', text }],
  shown: JSON.stringify(text)
});

const ids = (candidates: CandidateView[], contents = new Map()) =>
  groupByResult(candidates, contents).map(group =>
    group.candidates.map(({ id }) => id).join(' ')
  );

describe('the candidates', () => {
  it('are those that were executed or are running', () => {
    const statuses = ['ok', 'duplicate', 'no code', 'running', 'error'];
    const tried = subtask({
      candidates: statuses.map(status => candidate({ id: status, status }))
    });
    expect(executedCandidates(tried).map(({ id }) => id)).toEqual([
      'ok',
      'running',
      'error'
    ]);
    expect(canCompare(tried)).toBe(true);
    expect(canCompare(subtask({ candidates: [candidate()] }))).toBe(false);
  });
});

describe('groups', () => {
  it('have the candidates that the run found to agree, in either order', () => {
    const candidates = [
      candidate({ id: '1.1', agrees_with: '1.2' }),
      candidate({ id: '1.2' }),
      candidate({ id: '1.3' }),
      candidate({ id: '1.4', agrees_with: '1.2' })
    ];
    expect(ids(candidates)).toEqual(['1.1 1.2 1.4', '1.3']);
  });

  it('have the candidates that show exactly the same', () => {
    const candidates = ['1.1', '1.2', '1.3'].map(id => candidate({ id }));
    const contents = new Map([
      ['1.1', content('figure')],
      ['1.2', content('other')],
      ['1.3', content('figure')]
    ]);
    expect(ids(candidates, contents)).toEqual(['1.1 1.3', '1.2']);
  });

  it('do not unite failures, nor candidates without output', () => {
    const candidates = [
      candidate({ id: '1.1', status: 'error' }),
      candidate({ id: '1.2', status: 'error' }),
      candidate({ id: '1.3' }),
      candidate({ id: '1.4' })
    ];
    const contents = new Map([
      ['1.1', content('NameError')],
      ['1.2', content('NameError')]
    ]);
    expect(ids(candidates, contents)).toHaveLength(4);
  });
});

describe('the run that is shown', () => {
  const candidates = [candidate()];
  const first = run({
    key: 'a',
    cell: 'c',
    subtasks: [subtask({ id: '2', title: 'Draw', candidates })]
  });
  const next = (change = {}) =>
    run({
      key: 'b',
      cell: 'c',
      origin: 'candidate 2.1 edited',
      subtasks: [subtask({ id: '1', title: 'Draw', candidates })],
      ...change
    });
  const shown = (...runs: ReturnType<typeof run>[]) => {
    const found = followRun(runs, 'a', '2');
    return found && [found[0].key, found[1].id];
  };

  it('is the newest that continues from it and has candidates', () => {
    expect(shown(first)).toEqual(['a', '2']);
    expect(shown(first, next())).toEqual(['b', '1']);
  });

  it('is not one that started anew, or belongs to another cell', () => {
    expect(shown(first, next({ origin: '' }))).toEqual(['a', '2']);
    expect(shown(first, next({ cell: 'd' }))).toEqual(['a', '2']);
    expect(shown(first, next({ subtasks: [] }))).toEqual(['a', '2']);
    expect(shown(next())).toBeNull();
  });
});

describe('code', () => {
  it('differs by lines', () => {
    expect(compareCode('a\nb\nc', 'a\nB\nc\nd')).toEqual([
      { kind: 'same', text: 'a' },
      { kind: 'removed', text: 'b' },
      { kind: 'added', text: 'B' },
      { kind: 'same', text: 'c' },
      { kind: 'added', text: 'd' }
    ]);
  });

  it('is shown as it is without a base, or if it is equal but for its end', () => {
    const plain = [{ kind: 'same', text: 'a\nb' }];
    expect(compareCode(null, 'a\nb')).toEqual(plain);
    expect(compareCode('a\nb\n', 'a\nb')).toEqual(plain);
  });
});

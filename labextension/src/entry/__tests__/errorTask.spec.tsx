/** Tasks from cells: what is read from them, and the changes that are shown at the end. */
import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import * as React from 'react';

import { FakeEntry, run, solved } from '../../sidebar/__tests__/fakeModel';
import { ErrorFix } from '../ErrorFix';
import { commentAt, usedLibraries } from '../errorTask';
import { setupAfter } from '../followUp';
import { lineDiff } from '../lineDiff';

afterEach(cleanup);

describe('the libraries of code', () => {
  it.each([
    ['import networkx as nx\nnx.Graph()', '', ['networkx']],
    [
      'np.array(Graph())',
      'import numpy as np, pandas as pd\nfrom networkx import (Graph, DiGraph)',
      ['numpy', 'networkx']
    ],
    ['path.join()', 'from os import path as path\nimport os.path', ['os']],
    ['x = 1', 'import numpy', []]
  ])('%s', (code, notebook, libraries) => {
    expect(usedLibraries(code, notebook)).toEqual(libraries);
  });
});

it('a comment is read as words, with its neighbouring lines', () => {
  const lines = ['a = 1', '# Find the', '  ## shortest path', 'b = 2'];
  expect(commentAt(lines, 2)).toBe('Find the\nshortest path');
  expect(commentAt(lines, 0)).toBe('');
});

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

describe('the changes to a failed cell', () => {
  const show = (failed: string | null, view = solved({ code: 'a = 2' })) => {
    const entry = new FakeEntry();
    entry.failed = failed;
    render(<ErrorFix run={view} entry={entry} />);
    return entry;
  };

  it('are shown, and replace its source on request', () => {
    const entry = show('a = 1 +');
    const lines = screen.getAllByRole('listitem').map(each => each.textContent);
    expect(lines).toEqual(['-removed: a = 1 +', '+added: a = 2']);
    fireEvent.click(screen.getByRole('button'));
    expect(entry.failed).toBe('a = 2');
    expect(screen.queryByRole('button')).toBeNull();
    screen.getByText('The cell contains the solution.');
  });

  it('are not shown without a failed cell or a solution', () => {
    show(null);
    show('a = 1', run({ code: null }));
    expect(screen.queryByRole('heading')).toBeNull();
  });
});

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

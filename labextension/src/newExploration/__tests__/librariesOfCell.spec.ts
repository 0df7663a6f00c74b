/** Which libraries code uses. */
import { failingLibrary, usedLibraries } from '../librariesOfCell';

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

describe('the library in which code failed', () => {
  it.each([
    [
      [
        '\u001b[31mKeyError\u001b[39m  Traceback (most recent call last)',
        '\u001b[36mCell\u001b[39m\u001b[36m \u001b[39m\u001b[32mIn[2]\u001b[39m\u001b[32m, line 1\u001b[39m\n----> df.sum(1)',
        'File \u001b[32m~/env/lib/python3.11/site-packages/pandas/core/frame.py:10832\u001b[39m, in DataFrame.sum',
        'File \u001b[32m~/env/lib/python3.11/site-packages/numpy/_core/fromnumeric.py:86\u001b[39m, in sum'
      ],
      'pandas'
    ],
    [['File C:\\env\\Lib\\site-packages\\polars\\frame.py:1, in f'], 'polars'],
    [["NameError: name 'b' is not defined"], undefined]
  ])('is that of the outermost frame: %#', (traceback, library) => {
    expect(failingLibrary(traceback)).toBe(library);
  });
});

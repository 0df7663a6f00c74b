/** Which libraries code uses. */
import { usedLibraries } from '../usedLibraries';

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

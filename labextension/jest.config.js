const jupyterlab = require('@jupyterlab/testutils/lib/jest-config');

const base = jupyterlab(__dirname);
const translated = [
  '@codemirror',
  '@jupyter',
  '@jupyterlab',
  '@marijn',
  '@microsoft',
  '@noble',
  '@rjsf',
  'color',
  'exenv-es6',
  'lib0',
  'marked',
  'nanoid',
  'vscode-ws-jsonrpc',
  'y-protocols',
  'y-websocket',
  'yjs'
];

module.exports = {
  ...base,
  reporters: ['default'],
  setupFiles: [...base.setupFiles, './jest.setup.js'],
  testTimeout: 60_000, // the other tests may keep the machine busy
  testRegex: 'src/(.*/)?__tests__/.*\\.spec\\.tsx?$',
  transform: {
    ...base.transform,
    '^.+\\.tsx?$': ['ts-jest', { tsconfig: 'tsconfig.test.json' }]
  },
  transformIgnorePatterns: [`/node_modules/(?!(${translated.join('|')})/)`]
};

import { PromiseDelegate } from '@lumino/coreutils';

import { CONTROL } from '../../messages';
import { KernelLink, NoAnswerError } from '../kernelLink';
import { createComm } from '../subshell';
import { FakeKernel, never, settled } from './fakeKernel';

const PAGE = Promise.resolve('me');

let kernel: FakeKernel;
let link: KernelLink;

beforeEach(() => {
  kernel = new FakeKernel();
  link = new KernelLink(kernel.connection, PAGE, 20);
});

afterEach(() => link.dispose());

describe('a connection', () => {
  it('identifies the page and receives a welcome', async () => {
    let welcomes = 0;
    link.welcomed.connect(() => {
      welcomes += 1;
    });
    await link.connect();
    expect(kernel.receivedOfType('hello')).toEqual([
      expect.objectContaining({ page: 'me', session: 'my session' })
    ]);
    expect([link.state, link.hasSubshell, welcomes]).toEqual([
      'ready',
      true,
      1
    ]);
  });

  it('fails if the extension is not loaded', async () => {
    kernel.loaded = false;
    kernel.answers = {};
    await link.connect();
    expect(link.state).toBe('none');
  });

  it('is made when the kernel opens its comm later', async () => {
    kernel.loaded = false;
    kernel.answers = {};
    await link.connect();
    kernel.loaded = true;
    kernel.answers = new FakeKernel().answers;
    kernel.open('hello');
    await settled();
    expect(link.state).toBe('ready');
  });

  it('fails if the page has no comms', async () => {
    kernel.handleComms = false;
    await link.connect();
    expect(link.state).toBe('none');
  });

  it('is rejected by a kernel of another version', async () => {
    kernel.version = 2;
    await link.connect();
    expect(link.state).toBe('other-version');
  });

  it('answers when a cell of this page calls', async () => {
    await link.connect();
    kernel.open('call', 'my session');
    await settled();
    expect(kernel.receivedOfType('hello')).toHaveLength(2);
    expect(kernel.comms).toHaveLength(1);
  });

  it('is retried when an attempt from before the extension was loaded fails', async () => {
    const { answers } = kernel;
    kernel.answers = {};
    const early = link.connect();
    await settled();
    kernel.answers = answers;
    kernel.open('call', 'my session');
    kernel.comms[0].onClose({});
    await early;
    await settled();
    expect([link.state, kernel.comms.length]).toEqual(['ready', 2]);
  });

  it('does not answer when a cell of another page calls', async () => {
    await link.connect();
    kernel.open('call');
    kernel.open('hello', 'my session');
    await settled();
    expect(kernel.receivedOfType('hello')).toHaveLength(1);
  });

  it('sends hello again after an interruption', async () => {
    await link.connect();
    kernel.connectionStatusChanged.emit('connecting');
    kernel.connectionStatusChanged.emit('connected');
    await settled();
    expect(kernel.receivedOfType('hello')).toHaveLength(2);
  });

  it('sends the path of a notebook that is renamed before the answer', async () => {
    let path = 'old.ipynb';
    const { hello } = kernel.answers;
    kernel.answers = {};
    link.dispose();
    link = new KernelLink(kernel.connection, PAGE, 1000, () => path);
    const connecting = link.connect();
    await settled();
    path = 'new.ipynb';
    expect(link.notebook).toBeNull();
    kernel.answers.hello = hello;
    const [first] = kernel.receivedOfType('hello');
    kernel.answer(first.request, hello(first)!);
    await connecting;
    expect(kernel.receivedOfType('hello')).toEqual([
      expect.objectContaining({ notebook: 'old.ipynb' }),
      expect.objectContaining({ notebook: 'new.ipynb' })
    ]);
    expect(link.notebook).toBe('new.ipynb');
  });

  it('is reset with a restarted kernel', async () => {
    await link.connect();
    link.restart();
    expect(link.state).toBe('none');
    kernel.open('call', 'my session');
    await settled();
    expect([link.state, kernel.comms.length]).toEqual(['ready', 2]);
  });

  it('is made again when the kernel restarts during the attempt', async () => {
    const features = new PromiseDelegate<void>();
    kernel.info = features.promise;
    const first = link.connect();
    link.restart();
    kernel.info = Promise.resolve();
    await link.connect();
    features.resolve();
    await first;
    expect(kernel.comms.map(comm => [comm.isOpen, comm.isDisposed])).toEqual([
      [false, true],
      [true, false]
    ]);
    expect([link.state, kernel.receivedOfType('hello').length]).toEqual([
      'ready',
      1
    ]);
  });
});

describe('events', () => {
  it('are received on the kernel’s comm', () => {
    const received: string[] = [];
    link.received.connect((_, message) => received.push(message.type));
    kernel.open('hello');
    kernel.broadcast({ type: 'who', run: 'k1' });
    expect(received).toEqual(['who']);
  });

  it('are ignored once the link is disposed', () => {
    const received: string[] = [];
    link.received.connect((_, message) => received.push(message.type));
    kernel.open('hello');
    link.dispose();
    kernel.broadcast({ type: 'who', run: 'k1' });
    expect(received).toEqual([]);
  });
});

describe('a request', () => {
  it('gets its own answer', async () => {
    await link.connect();
    const first = link.request({ type: 'stop', run: 'a' });
    const second = link.request({ type: 'stop', run: 'b' });
    const [a, b] = kernel.receivedOfType('stop');
    kernel.answer(b.request, { type: 'done', problem: 'b' });
    kernel.answer(a.request, { type: 'done', problem: 'a' });
    expect(await first).toMatchObject({ problem: 'a' });
    expect(await second).toMatchObject({ problem: 'b' });
  });

  it('times out when the kernel does not answer', async () => {
    await link.connect();
    const asked = link.request({ type: 'stop', run: 'a' });
    await expect(asked).rejects.toEqual(new NoAnswerError('timeout'));
  });

  it('waits for the running cell where there are no subshells', async () => {
    kernel.supportsSubshells = false;
    kernel.subshellStarted = never();
    await link.connect();
    expect(link.hasSubshell).toBe(false);
    const asked = link.request({ type: 'stop', run: 'a' });
    await new Promise(resolve => setTimeout(resolve, 40));
    kernel.answer(kernel.receivedOfType('stop')[0].request, { type: 'done' });
    expect(await asked).toMatchObject({ type: 'done' });
  });

  it('is rejected with the reason for which the connection was closed', async () => {
    kernel.answers = {};
    await link.connect();
    const asked = link.request({ type: 'stop', run: 'a' });
    await expect(asked).rejects.toMatchObject({ reason: 'timeout' });
    link.restart();
    const again = link.request({ type: 'stop', run: 'a' });
    await expect(again).rejects.toMatchObject({ reason: 'none' });
  });

  it('is rejected without a connection', async () => {
    const asked = link.request({ type: 'stop', run: 'a' });
    await expect(asked).rejects.toMatchObject({ reason: 'none' });
  });

  it('fails when the kernel closes the comm', async () => {
    await link.connect();
    const asked = link.request({ type: 'stop', run: 'a' });
    kernel.comms[0].onClose({});
    await expect(asked).rejects.toMatchObject({ reason: 'none' });
  });
});

describe('a link without the subshell that its kernel could have', () => {
  it('opens another comm after a while', async () => {
    jest.useFakeTimers();
    try {
      kernel.subshellStarted = Promise.reject(new Error('no'));
      kernel.controlFailures = 3;
      void link.connect();
      await jest.advanceTimersByTimeAsync(7000);
      expect([link.state, link.isBlockedByCell]).toEqual(['ready', true]);
      await jest.advanceTimersByTimeAsync(5000);
      expect([link.state, link.hasSubshell]).toEqual(['ready', true]);
      expect(kernel.comms[0].isDisposed).toBe(true);
    } finally {
      jest.useRealTimers();
    }
  });
});

describe('a subshell', () => {
  it('is requested on the control channel while a cell is running', async () => {
    kernel.info = never();
    kernel.subshellStarted = never();
    const opened = await createComm(kernel.connection, CONTROL, 1);
    expect(opened.subshell).toBe(true);
    expect(kernel.comms[0]._subshellId).toBe('by control');
  });

  it('that was requested there is kept when JupyterLab has its own', async () => {
    const started = new PromiseDelegate<void>();
    kernel.info = never();
    kernel.subshellStarted = started.promise;
    await createComm(kernel.connection, CONTROL, 1);
    await settled();
    started.resolve();
    await settled();
    expect(kernel.requested).not.toContain('delete_subshell_request');
  });

  it('is not used if the kernel has none', async () => {
    kernel.info = never();
    kernel.features = [];
    const opened = await createComm(kernel.connection, CONTROL, 1);
    expect(opened.subshell).toBe(false);
  });

  it('is requested again if JupyterLab failed to start one', async () => {
    kernel.subshellStarted = Promise.reject(new Error('no'));
    const opened = await createComm(kernel.connection, CONTROL, 1);
    expect(opened.subshell).toBe(true);
  });

  it('is requested again if a request was lost', async () => {
    kernel.info = never();
    kernel.subshellStarted = never();
    kernel.controlFailures = 2;
    const opened = await createComm(kernel.connection, CONTROL, 1);
    expect(opened.subshell).toBe(true);
  });

  it('is requested again if no reply came', async () => {
    jest.useFakeTimers();
    try {
      kernel.info = never();
      kernel.subshellStarted = never();
      kernel.controlLost = 1;
      const opening = createComm(kernel.connection, CONTROL, 1);
      await jest.advanceTimersByTimeAsync(20_000);
      expect((await opening).subshell).toBe(true);
    } finally {
      jest.useRealTimers();
    }
  });

  it('is not used if it cannot be started', async () => {
    kernel.subshellStarted = Promise.reject(new Error('no'));
    kernel.controlFailures = 9;
    const opened = await createComm(kernel.connection, CONTROL, 1);
    expect([opened.subshell, opened.retry]).toEqual([false, true]);
  });

  it('is not used if the page does not support it', async () => {
    kernel.subshellStarted = undefined;
    const opened = await createComm(kernel.connection, CONTROL, 1);
    expect(opened.subshell).toBe(false);
  });
});

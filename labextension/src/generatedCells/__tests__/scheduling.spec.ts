import { onNextFrame, onNextTask } from '../scheduling';

let hidden: jest.SpyInstance;

beforeEach(() => {
  hidden = jest.spyOn(document, 'hidden', 'get').mockReturnValue(false);
});

afterEach(() => {
  jest.restoreAllMocks();
});

it('continues in another task', async () => {
  const done: string[] = [];
  const ended = new Promise<void>(resolve => {
    onNextTask(() => {
      done.push('later');
      resolve();
    });
  });
  done.push('now');
  await ended;
  expect(done).toEqual(['now', 'later']);
});

it('continues once, after a frame', async () => {
  const frames: FrameRequestCallback[] = [];
  jest
    .spyOn(window, 'requestAnimationFrame')
    .mockImplementation(frame => frames.push(frame));
  const next = jest.fn();
  const ended = new Promise<void>(resolve => {
    onNextFrame(() => {
      next();
      resolve();
    });
  });
  expect(frames).toHaveLength(1);
  frames[0](0);
  expect(next).not.toHaveBeenCalled();
  await ended;
  expect(next).toHaveBeenCalledTimes(1);
});

it('does not wait for a frame if none is drawn', async () => {
  hidden.mockReturnValue(true);
  const frame = jest.spyOn(window, 'requestAnimationFrame');
  await new Promise<void>(resolve => onNextFrame(resolve));
  expect(frame).not.toHaveBeenCalled();
});

it('continues if the tab moves to the background meanwhile', async () => {
  jest.spyOn(window, 'requestAnimationFrame').mockReturnValue(0);
  await new Promise<void>(resolve => onNextFrame(resolve));
});

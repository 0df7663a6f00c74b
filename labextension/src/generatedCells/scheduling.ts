/** Schedules work that is done in pieces, so that the page can render and handle events in between. */

/** Calls back once, in a separate task. */
export type Schedule = (next: () => void) => void;

/** Upper limit in milliseconds: a tab that moves to the background draws no frames. */
const FRAME_TIMEOUT = 200;

/** Run in the next task. Timers are not used because they are throttled in background tabs. */
export function onNextTask(next: () => void): void {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    next();
  };
  port2.postMessage(null);
}

/** Run after the next frame is drawn, outside of that frame's task. */
export function onNextFrame(next: () => void): void {
  if (document.hidden) {
    onNextTask(next);
    return;
  }
  let done = false;
  const once = () => {
    if (!done) {
      done = true;
      next();
    }
  };
  requestAnimationFrame(() => onNextTask(once));
  setTimeout(once, FRAME_TIMEOUT);
}

/** When to go on with work that is done in pieces, so that the page can draw and listen in between. */

/** Calls back once, in a task of its own. */
export type Schedule = (next: () => void) => void;

/** A tab that goes to the background while it waits draws no frame. */
const FRAME_TIMEOUT = 200;

/** In the next task. Timers would do, but tabs in the background have few of them. */
export function onNextTask(next: () => void): void {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    next();
  };
  port2.postMessage(null);
}

/** When the next frame is drawn: what is done then is not part of that frame's task. */
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

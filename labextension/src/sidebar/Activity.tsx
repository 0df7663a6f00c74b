/**
 * The current activity: shown at once, announced to screen readers at intervals so that they are not flooded.
 */
import * as React from 'react';

import { TextWithCode, stripBackticks } from '../shared/TextWithCode';

/** Milliseconds between two announcements. */
const ANNOUNCE_INTERVAL = 4000;

export function Activity(props: {
  text: string;
  /** The status of the run, announced at once before the activity. */
  status: string;
  /** Whether the run has ended: the last announcement is not delayed. */
  over: boolean;
  /** Whether the run ended with an error. */
  failed: boolean;
}): React.JSX.Element {
  const { status, text, over, failed } = props;
  const throttled = useThrottled(text, ANNOUNCE_INTERVAL);
  const announced = over ? text : throttled;
  const visible = text.startsWith(`${status}. `)
    ? text.slice(status.length + 2)
    : text;
  return (
    <div className={`jp-Explora-activity${failed ? ' jp-mod-failed' : ''}`}>
      <p aria-hidden="true">
        <TextWithCode text={visible} />
      </p>
      <p
        className="jp-Explora-unseen"
        role={failed ? 'alert' : 'status'}
        aria-live={failed ? 'assertive' : 'polite'}
      >
        {stripBackticks(
          announced.startsWith(status) ? announced : `${status}. ${announced}`
        )}
      </p>
    </div>
  );
}

/** The value, updated at most once in `pause` milliseconds. The last value is always returned eventually. */
function useThrottled(value: string, pause: number): string {
  const [shown, show] = React.useState(value);
  const next = React.useRef(0);
  React.useEffect(() => {
    const now = Date.now();
    const timer = window.setTimeout(
      () => {
        next.current = Date.now() + pause;
        show(value);
      },
      Math.max(0, next.current - now)
    );
    return () => window.clearTimeout(timer);
  }, [value, pause]);
  return shown;
}

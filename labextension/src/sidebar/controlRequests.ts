/**
 * Sends controls and tracks them as pending until the kernel has answered and the run shows the effect.
 */
import * as React from 'react';

import type {
  Control,
  INotebookExplorations
} from '../link/explorationInterface';
import type { Done, RunView } from '../messages';

/** A reply to the user. */
export type IReply = Pick<Done, 'problem' | 'said' | 'link'>;

export interface IControlRequests {
  reply: IReply | null;
  /** Whether `control` was sent and its effect does not show yet. `of`: the subtask or candidate. */
  isPending(control: Control, of?: string): boolean;
  send(control: Control, answer: Promise<Done>, of?: string): void;
  showReply(reply: IReply | null): void;
}

/** How long a control stays pending if the run does not show its effect, in milliseconds. */
const PENDING_TIMEOUT = 3000;
/** How long a reply is shown, in milliseconds. One with a problem or a link stays until it is closed. */
const REPLY_DURATION = 10_000;

export function useControlRequests(
  model: INotebookExplorations,
  run: RunView
): IControlRequests {
  const [accepted, setAccepted] = React.useState<ReadonlyMap<string, string>>(
    new Map()
  );
  const [reply, showReply] = React.useState<IReply | null>(null);
  React.useEffect(() => {
    const forget = () => setAccepted(new Map());
    const timer = accepted.size
      ? window.setTimeout(forget, PENDING_TIMEOUT)
      : undefined;
    return () => window.clearTimeout(timer);
  }, [accepted]);
  React.useEffect(() => {
    const transient = reply !== null && !reply.problem && !reply.link;
    const timer = transient
      ? window.setTimeout(() => showReply(null), REPLY_DURATION)
      : undefined;
    return () => window.clearTimeout(timer);
  }, [reply]);

  const send = async (control: Control, answer: Promise<Done>, of?: string) => {
    const before = observedState(run, control, of);
    showReply(null);
    const done = await answer;
    showReply(done.problem || done.said || done.link ? done : null);
    if (!done.problem && before !== null) {
      setAccepted(old => new Map(old).set(pendingKey(control, of), before));
    }
  };
  return {
    reply,
    showReply,
    isPending: (control, of) =>
      model.isPending(run.key, control, of) ||
      accepted.get(pendingKey(control, of)) === observedState(run, control, of),
    send: (control, answer, of) => void send(control, answer, of)
  };
}

function pendingKey(control: Control, of = ''): string {
  return `${control} ${of}`;
}

/**
 * The part of the run's state that changes when the control takes effect. `null` for an export, which is complete when
 * it is answered.
 */
function observedState(
  run: RunView,
  control: Control,
  of?: string
): string | null {
  const subtask = run.subtasks.find(({ id }) => id === of);
  switch (control) {
    case 'stop':
      return run.status;
    case 'explore':
      return `${run.may_explore_now}`;
    case 'skip':
      return `${subtask?.status}`;
    case 'retry':
      return `${subtask?.status} ${subtask?.hint} ${subtask?.candidates.length}`;
    case 'choose':
      return run.subtasks.map(({ selected }) => selected).join();
    case 'edit':
      return run.subtasks.map(({ candidates }) => candidates.length).join();
    case 'plan':
      return run.status + run.subtasks.map(({ title }) => title).join('\n');
    case 'change':
      return run.patch;
    case 'export':
      return null;
  }
}

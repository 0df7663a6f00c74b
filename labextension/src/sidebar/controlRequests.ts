/**
 * Asking for things, and showing at once that one has: what was asked stays marked until the kernel has answered and
 * the run shows it.
 */
import * as React from 'react';

import type { Control, IExplorationModel } from '../link/tokens';
import type { Done, RunView } from '../messages';

/** The kernel's last word to the user. */
export type IReply = Pick<Done, 'problem' | 'said' | 'link'>;

export interface IAsks {
  reply: IReply | null;
  /** Whether `control` was asked for and does not show yet. `of`: the subtask or candidate. */
  pending(control: Control, of?: string): boolean;
  ask(control: Control, answer: Promise<Done>, of?: string): void;
  say(reply: IReply | null): void;
}

/** If the run does not show it by then, the control comes back. */
const PATIENCE = 3000;
/** How long a reply is shown that leaves nothing to do, in milliseconds; a problem or a link stays until it is closed. */
const SHOWN = 10_000;

export function useAsks(model: IExplorationModel, run: RunView): IAsks {
  const [taken, setTaken] = React.useState<ReadonlyMap<string, string>>(
    new Map()
  );
  const [reply, say] = React.useState<IReply | null>(null);
  React.useEffect(() => {
    const forget = () => setTaken(new Map());
    const timer = taken.size ? window.setTimeout(forget, PATIENCE) : undefined;
    return () => window.clearTimeout(timer);
  }, [taken]);
  React.useEffect(() => {
    const passing = reply !== null && !reply.problem && !reply.link;
    const timer = passing
      ? window.setTimeout(() => say(null), SHOWN)
      : undefined;
    return () => window.clearTimeout(timer);
  }, [reply]);

  const ask = async (control: Control, answer: Promise<Done>, of?: string) => {
    const before = course(run, control, of);
    say(null);
    const done = await answer;
    say(done.problem || done.said || done.link ? done : null);
    if (!done.problem && before !== null) {
      setTaken(old => new Map(old).set(name(control, of), before));
    }
  };
  return {
    reply,
    say,
    pending: (control, of) =>
      model.isPending(run.key, control, of) ||
      taken.get(name(control, of)) === course(run, control, of),
    ask: (control, answer, of) => void ask(control, answer, of)
  };
}

function name(control: Control, of = ''): string {
  return `${control} ${of}`;
}

/** What changes in the run when the control has taken effect; an export has when it is answered. */
function course(run: RunView, control: Control, of?: string): string | null {
  const subtask = run.subtasks.find(({ id }) => id === of);
  switch (control) {
    case 'stop':
      return run.status;
    case 'skip':
      return `${subtask?.status}`;
    case 'retry':
      return `${subtask?.status} ${subtask?.hint} ${subtask?.candidates.length}`;
    case 'choose':
      return run.subtasks.map(({ selected }) => selected).join();
    case 'plan':
      return run.status + run.subtasks.map(({ title }) => title).join('\n');
    case 'export':
      return null;
  }
}

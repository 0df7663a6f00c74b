/** Follow-ups: new explorations that start from the state after a solution. */
import type { RunView } from '../messages';

/** The names of the run's libraries, as they are entered in the form. */
export function librariesOf(run: RunView): string {
  return run.libraries.map(library => library.split(' ')[0]).join(', ');
}

/** The code that makes that state: what the run started from, then its solution, with its task as a comment. */
export function setupAfter(run: RunView): string {
  const task = run.task.trim().replace(/^/gm, '# ');
  return [run.setup, `${task}\n${run.code ?? ''}`.trim()]
    .filter(part => part)
    .join('\n\n');
}

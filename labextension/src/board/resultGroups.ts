/** The candidates that a board compares, in groups of those with the same result. */
import type { CandidateView, RunView, SubtaskView } from '../messages';
import type { ICandidateContent } from './candidateContents';

/** Candidates with the same result, in the order in which they were proposed. */
export interface IResultGroup {
  /** Id of the first candidate of the group that the others were compared with. */
  key: string;
  candidates: CandidateView[];
}

/** Statuses of candidates that were never executed. */
const NOT_EXECUTED = ['duplicate', 'no code', 'not run', 'not finished'];

/** The subtasks of a run that have candidates, and its solution. */
export function subtasksOf(run: RunView): SubtaskView[] {
  return run.solution ? [...run.subtasks, run.solution] : run.subtasks;
}

/** The candidates that were executed or are running. */
export function executedCandidates(subtask: SubtaskView): CandidateView[] {
  return subtask.candidates.filter(
    ({ status }) => !NOT_EXECUTED.includes(status)
  );
}

/** Whether there is something to compare. */
export function canCompare(subtask: SubtaskView): boolean {
  return executedCandidates(subtask).length > 1;
}

/**
 * Group the candidates by their results. Those that the run found to agree, and those that show exactly the same, are
 * in one group.
 */
export function groupByResult(
  candidates: readonly CandidateView[],
  contents: ReadonlyMap<string, ICandidateContent>
): IResultGroup[] {
  const groups: IResultGroup[] = [];
  const byShown = new Map<string, IResultGroup>();
  for (const candidate of candidates) {
    const ran = candidate.status === 'ok';
    const shown = ran ? (contents.get(candidate.id)?.shown ?? '[]') : '[]';
    const known = ran
      ? (groups.find(group => agrees(group, candidate)) ?? byShown.get(shown))
      : undefined;
    const group = known ?? { key: candidate.id, candidates: [] };
    group.candidates.push(candidate);
    if (!known) {
      groups.push(group);
    }
    if (shown !== '[]' && !byShown.has(shown)) {
      byShown.set(shown, group);
    }
  }
  return groups;
}

/** Whether the run found that the candidate computed the same as one of the group, in either order. */
function agrees(group: IResultGroup, candidate: CandidateView): boolean {
  return group.candidates.some(
    member =>
      member.id === candidate.agrees_with ||
      (member.status === 'ok' && member.agrees_with === candidate.id) ||
      (candidate.agrees_with !== '' &&
        member.agrees_with === candidate.agrees_with)
  );
}

/**
 * The run and subtask to show: those of the board, or of the newest run that continues from it, once that run has
 * candidates to show for the same subtask.
 */
export function followRun(
  runs: readonly RunView[],
  key: string,
  subtask: string
): [RunView, SubtaskView] | null {
  const index = runs.findIndex(run => run.key === key);
  const run = runs[index];
  const shown = run && subtasksOf(run).find(({ id }) => id === subtask);
  if (!run || !shown) {
    return null;
  }
  const next = runs
    .slice(index + 1)
    .filter(({ cell, origin }) => cell === run.cell && origin !== '')
    .at(-1);
  const same = next && findSame(next, run, shown);
  return same && executedCandidates(same).length ? [next, same] : [run, shown];
}

function findSame(
  next: RunView,
  run: RunView,
  shown: SubtaskView
): SubtaskView | undefined {
  return shown === run.solution
    ? (next.solution ?? undefined)
    : next.subtasks.find(({ title }) => title === shown.title);
}

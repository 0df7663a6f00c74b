/**
 * A plan while the user edits it: the subtasks that have not begun, and those that were added.
 */
import type { SubtaskView } from '../messages';

export interface IDraftStep {
  /** Stays with the step while it is edited and moved. */
  key: number;
  /** The subtask that it was; `null` for a new one. */
  id: string | null;
  title: string;
}

export interface IPlanDraft {
  steps: IDraftStep[];
  /** The key of the next new step. */
  next: number;
  /** How many steps were left out because they began meanwhile. */
  started: number;
}

export type DraftEdit =
  | { type: 'retitle'; key: number; title: string }
  | { type: 'add'; after?: number }
  | { type: 'remove'; key: number }
  | { type: 'move'; key: number; by: -1 | 1 }
  | { type: 'begin'; subtasks: SubtaskView[] };

/** The draft that changes nothing yet. */
export function createDraft(subtasks: readonly SubtaskView[]): IPlanDraft {
  const steps = subtasks
    .filter(subtask => subtask.status === 'planned')
    .map(({ id, title }, key) => ({ key, id, title }));
  return { steps, next: steps.length, started: 0 };
}

export function reduceDraft(draft: IPlanDraft, edit: DraftEdit): IPlanDraft {
  switch (edit.type) {
    case 'retitle':
      return {
        ...draft,
        steps: draft.steps.map(step =>
          step.key === edit.key ? { ...step, title: edit.title } : step
        )
      };
    case 'add':
      return addStep(draft, edit.after);
    case 'remove':
      return {
        ...draft,
        steps: draft.steps.filter(step => step.key !== edit.key)
      };
    case 'move':
      return { ...draft, steps: moveStep(draft.steps, edit.key, edit.by) };
    case 'begin':
      return removeStarted(draft, edit.subtasks);
  }
}

/** What is sent: the titles that say anything, each on one line. */
export function draftTitles(draft: IPlanDraft): string[] {
  return draft.steps
    .map(step => step.title.replace(/\s+/g, ' ').trim())
    .filter(title => title !== '');
}

function addStep(draft: IPlanDraft, after?: number): IPlanDraft {
  const at = draft.steps.findIndex(step => step.key === after);
  const steps = [...draft.steps];
  const step = { key: draft.next, id: null, title: '' };
  steps.splice(at < 0 ? steps.length : at + 1, 0, step);
  return { ...draft, steps, next: draft.next + 1 };
}

function moveStep(steps: IDraftStep[], key: number, by: -1 | 1): IDraftStep[] {
  const from = steps.findIndex(step => step.key === key);
  const to = from + by;
  if (from < 0 || to < 0 || to >= steps.length) {
    return steps;
  }
  const changed = [...steps];
  [changed[from], changed[to]] = [changed[to], changed[from]];
  return changed;
}

/** A subtask that began while it was edited is no longer ours to change; the same draft if there is none. */
function removeStarted(draft: IPlanDraft, subtasks: SubtaskView[]): IPlanDraft {
  const planned = new Set(
    subtasks.filter(({ status }) => status === 'planned').map(({ id }) => id)
  );
  const steps = draft.steps.filter(
    step => step.id === null || planned.has(step.id)
  );
  const started = draft.started + draft.steps.length - steps.length;
  return started === draft.started ? draft : { ...draft, steps, started };
}

/**
 * The draft of a plan in the editor: the subtasks that have not started, and new ones.
 */
import type { SubtaskView } from '../messages';

export interface IDraftStep {
  /** Identifies the step while it is edited and moved. */
  key: number;
  /** The id of the existing subtask; `null` for a new one. */
  id: string | null;
  title: string;
}

export interface IPlanDraft {
  steps: IDraftStep[];
  /** The key of the next new step. */
  next: number;
  /** How many steps were removed from the draft because they have started. */
  started: number;
}

export type DraftEdit =
  | { type: 'retitle'; key: number; title: string }
  | { type: 'add'; after?: number }
  | { type: 'remove'; key: number }
  | { type: 'move'; key: number; by: -1 | 1 }
  | { type: 'begin'; subtasks: SubtaskView[] };

/** A draft of the current plan. */
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

/** The titles to send: those that are not empty, each on one line. */
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

/** Remove subtasks that have started since. Returns the same draft if there are none. */
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

/**
 * The text and icon of each status. Both are shown, so that nothing depends on color alone.
 */
import type { TranslationBundle } from '@jupyterlab/translation';

import type { RunView, SubtaskView } from '../messages';

/** The names of the icons in `icons.tsx`. */
export type StatusIcon =
  | 'planned'
  | 'busy'
  | 'good'
  | 'half'
  | 'bad'
  | 'skipped'
  | 'stopped'
  | 'asking'
  | 'same';

export interface IStatusLabel {
  sign: StatusIcon;
  text: string;
}

export function runStatusLabel(
  status: RunView['status'],
  trans: TranslationBundle
): IStatusLabel {
  switch (status) {
    case 'starting':
      return { sign: 'busy', text: trans.__('Starting') };
    case 'reviewing':
      return { sign: 'asking', text: trans.__('Plan awaiting review') };
    case 'running':
      return { sign: 'busy', text: trans.__('Running') };
    case 'stopping':
      return { sign: 'busy', text: trans.__('Stopping…') };
    case 'solved':
      return { sign: 'good', text: trans.__('Solved') };
    case 'unchecked':
      return {
        sign: 'half',
        text: trans.__('Unchecked')
      };
    case 'unsolved':
      return { sign: 'bad', text: trans.__('Unsolved') };
    case 'stopped':
      return { sign: 'stopped', text: trans.__('Stopped') };
    case 'failed':
      return { sign: 'bad', text: trans.__('Failed') };
  }
}

/** The label of an earlier run's outcome; `null` if the outcome is unknown. */
export function outcomeLabel(
  outcome: string,
  trans: TranslationBundle
): IStatusLabel | null {
  if (outcome === 'cut off') {
    return { sign: 'stopped', text: trans.__('Cut off') };
  }
  const known = [
    'running',
    'solved',
    'unchecked',
    'unsolved',
    'stopped'
  ] as const;
  const found = known.find(one => one === outcome);
  return found ? runStatusLabel(found, trans) : null;
}

/**
 * The label of a subtask's status. `over`: whether the run has ended; a subtask that was being explored is then
 * unfinished.
 */
export function subtaskStatusLabel(
  status: SubtaskView['status'],
  trans: TranslationBundle,
  over: boolean
): IStatusLabel {
  switch (status) {
    case 'planned':
      return { sign: 'planned', text: trans.__('planned') };
    case 'exploring':
      return over
        ? { sign: 'stopped', text: trans.__('not finished') }
        : { sign: 'busy', text: trans.__('exploring') };
    case 'done':
      // Not "done": nothing has verified that it did what was asked.
      return { sign: 'good', text: trans.__('ran') };
    case 'failed':
      return { sign: 'bad', text: trans.__('failed') };
    case 'skipped':
      return { sign: 'skipped', text: trans.__('skipped') };
  }
}

/** The label of a candidate's status. An unknown status is shown as is. */
export function candidateStatusLabel(
  status: string,
  trans: TranslationBundle
): IStatusLabel {
  switch (status) {
    case 'running':
      return { sign: 'busy', text: trans.__('running') };
    case 'ok':
      return { sign: 'good', text: trans.__('ran') };
    case 'error':
      return { sign: 'bad', text: trans.__('failed') };
    case 'check failed':
      return { sign: 'bad', text: trans.__('ran, but its check failed') };
    case 'timeout':
      return { sign: 'bad', text: trans.__('timed out') };
    case 'died':
      return { sign: 'bad', text: trans.__('kernel died') };
    case 'interrupted':
      return { sign: 'stopped', text: trans.__('interrupted') };
    case 'duplicate':
      return {
        sign: 'same',
        text: trans.__('same code as another candidate, not run again')
      };
    case 'no code':
      return { sign: 'bad', text: trans.__('no code') };
    case 'not finished':
      return { sign: 'stopped', text: trans.__('not finished') };
    default:
      return { sign: 'planned', text: status };
  }
}

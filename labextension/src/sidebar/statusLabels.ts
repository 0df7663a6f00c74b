/**
 * Statuses in words, each with the name of a sign, so that nothing is told by colour alone.
 */
import type { TranslationBundle } from '@jupyterlab/translation';

import type { RunView, SubtaskView } from '../messages';

/** The signs of `icons`. */
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

/** How an earlier run ended, or that it has not; `null` where that is not known. */
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

/** `over`: whether the run is; what it was exploring then stays as it was left. */
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
      // Whether it did what was asked, nobody has said.
      return { sign: 'good', text: trans.__('ran') };
    case 'failed':
      return { sign: 'bad', text: trans.__('failed') };
    case 'skipped':
      return { sign: 'skipped', text: trans.__('skipped') };
  }
}

/** What became of a candidate; a status that this page does not know is shown as it came. */
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

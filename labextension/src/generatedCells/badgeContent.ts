/** Computes the badge above the source of a generated cell from its metadata and, if known, its run. */
import type { TranslationBundle } from '@jupyterlab/translation';

import type { INotebookExplorations } from '../link/explorationInterface';
import type { CandidateView, RunView, SubtaskView } from '../messages';
import type { IActionButton } from './domElements';
import type { IMark } from './generatedCell';

/** The action of a badge's button. */
export type BadgeAction = 'choose' | 'make-mine';

export type IBadgeButton = IActionButton<BadgeAction>;

export interface IBadgeContent {
  name: string;
  /** A symbol for the status, shown next to its text. */
  sign: string;
  status: string;
  details: string[];
  buttons: IBadgeButton[];
  /** Why it was selected. */
  why: string[];
}

type IControlState = Pick<INotebookExplorations, 'isPending' | 'link'>;

/** The content of a cell's badge, or `null` for cells without a badge. */
export function badgeContent(
  mark: IMark,
  edited: boolean,
  run: RunView | undefined,
  model: IControlState,
  trans: TranslationBundle
): IBadgeContent | null {
  switch (mark.role) {
    case 'candidate':
      return edited
        ? editedBadge(mark, trans)
        : candidateBadge(mark, run, model, trans);
    case 'plan':
      // In the notebook of the user, the result card shows it.
      return mark.caller ? null : planBadge(mark, trans);
    case 'test':
      return {
        ...statusLabel(mark.status, trans),
        name: trans.__('Test input %1', mark.input ?? ''),
        details: durationDetail(mark, trans),
        buttons: [],
        why: []
      };
    default:
      return null;
  }
}

/** The row in place of a heading of a run in the user's notebook: that of what was tried, or that of the solution. */
export function headingBadge(
  mark: IMark,
  source: string,
  trans: TranslationBundle
): IBadgeContent | null {
  if (mark.role !== 'tries' && mark.role !== 'outcome') {
    return null;
  }
  const name = /^#+\s+(.+)/.exec(source)?.[1] ?? '';
  const isOver = mark.role === 'tries' && mark.status !== 'running';
  const status = isOver
    ? { sign: '', status: '' } // the card has the verdict
    : statusLabel(mark.status, trans);
  return name ? { ...status, name, details: [], buttons: [], why: [] } : null;
}

function candidateBadge(
  mark: IMark,
  run: RunView | undefined,
  model: IControlState,
  trans: TranslationBundle
): IBadgeContent {
  const { subtask, candidate } = findCandidate(run, mark.candidate);
  return {
    ...statusLabel(mark.status, trans),
    name: trans.__('Candidate %1', mark.candidate ?? ''),
    details: [
      ...(mark.round ? [trans.__('repair %1', mark.round)] : []),
      ...durationDetail(mark, trans),
      ...(mark.selected ? [trans.__('carried forward')] : [])
    ],
    buttons: chooseButton(mark, run, subtask, candidate, model, trans),
    why:
      subtask && mark.selected && subtask.selected === mark.candidate
        ? subtask.why
        : []
  };
}

/** The badge of an edited candidate. It shows nothing that was recorded, since the edited code did not run. */
function editedBadge(mark: IMark, trans: TranslationBundle): IBadgeContent {
  return {
    sign: '✎',
    status: trans.__('edited'),
    name: trans.__('Candidate %1', mark.candidate ?? ''),
    details: [],
    buttons: [
      {
        action: 'make-mine',
        label: trans.__('Make it mine'),
        caption: trans.__(
          'Make it an ordinary cell that you can run, without the recorded output'
        ),
        disabled: false
      }
    ],
    why: []
  };
}

function planBadge(mark: IMark, trans: TranslationBundle): IBadgeContent {
  return {
    ...statusLabel(mark.status, trans),
    name: trans.__('Exploration'),
    details: [],
    buttons: [],
    why: []
  };
}

function chooseButton(
  mark: IMark,
  run: RunView | undefined,
  subtask: SubtaskView | undefined,
  candidate: CandidateView | undefined,
  model: IControlState,
  trans: TranslationBundle
): IBadgeButton[] {
  const other = !!subtask?.selected && subtask.selected !== mark.candidate;
  if (!run || !candidate?.selectable || !other || model.link === 'none') {
    return [];
  }
  const pending = model.isPending(run.key, 'choose', candidate.id);
  return [
    {
      action: 'choose',
      label: pending
        ? trans.__('Requested…')
        : trans.__('Use this one instead'),
      caption: trans.__(
        'Carry this candidate forward; the later subtasks are explored again'
      ),
      disabled: pending
    }
  ];
}

function findCandidate(
  run: RunView | undefined,
  id: string | undefined
): { subtask?: SubtaskView; candidate?: CandidateView } {
  const all = run
    ? [...run.subtasks, ...(run.solution ? [run.solution] : [])]
    : [];
  for (const subtask of all) {
    const candidate = subtask.candidates.find(other => other.id === id);
    if (candidate) {
      return { subtask, candidate };
    }
  }
  return {};
}

function durationDetail(mark: IMark, trans: TranslationBundle): string[] {
  return typeof mark.seconds === 'number'
    ? [trans.__('%1 s', mark.seconds.toFixed(1))]
    : [];
}

function statusLabel(
  status: string | undefined,
  trans: TranslationBundle
): { sign: string; status: string } {
  switch (status ?? '') {
    case 'ok':
      return { sign: '✓', status: trans.__('ran') };
    case 'solved':
      return { sign: '✓', status: trans.__('solved') };
    case 'unchecked':
      return { sign: '◐', status: trans.__('unchecked') };
    case 'unsolved':
      return { sign: '✗', status: trans.__('unsolved') };
    case 'stopped':
      return { sign: '■', status: trans.__('stopped') };
    case 'error':
      return { sign: '✗', status: trans.__('failed') };
    case 'failed':
      return { sign: '✗', status: trans.__('failed') };
    case 'timeout':
      return { sign: '✗', status: trans.__('timed out') };
    case 'died':
      return { sign: '✗', status: trans.__('kernel died') };
    case 'interrupted':
      return { sign: '■', status: trans.__('interrupted') };
    case 'starting':
      return { sign: '▶', status: trans.__('starting') };
    case 'reviewing':
      return { sign: '▶', status: trans.__('plan awaiting review') };
    case 'stopping':
      return { sign: '▶', status: trans.__('stopping') };
    case 'running':
      return { sign: '▶', status: trans.__('running') };
    default:
      return { sign: '·', status: status ?? '' };
  }
}

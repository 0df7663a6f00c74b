/** Announces what changed in the compared candidates. */
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { SubtaskView } from '../messages';
import { candidateStatusLabel } from '../shared/statusLabels';

/** The latest change: another candidate is carried forward, or an edited one has run. Empty at first. */
export function useAnnouncement(
  subtask: SubtaskView,
  trans: TranslationBundle
): string {
  const [text, setText] = React.useState('');
  const before = React.useRef(subtask);
  React.useEffect(() => {
    const change = describeChange(before.current, subtask, trans);
    before.current = subtask;
    if (change) {
      setText(change);
    }
  });
  return text;
}

function describeChange(
  before: SubtaskView,
  now: SubtaskView,
  trans: TranslationBundle
): string {
  if (now.selected && now.selected !== before.selected) {
    return trans.__('Candidate %1 is carried forward.', now.selected);
  }
  const changed = now.candidates.find(
    ({ id, edits, status }) =>
      edits && status !== before.candidates.find(one => one.id === id)?.status
  );
  if (!changed) {
    return '';
  }
  const { id, edits, status } = changed;
  const label = candidateStatusLabel(status, trans).text;
  return trans.__('Candidate %1, your edit of %2: %3.', id, edits, label);
}

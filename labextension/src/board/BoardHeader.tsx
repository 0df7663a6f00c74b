/** The head of a board: its subtask, a summary, and the candidate that the others are compared with. */
import * as React from 'react';

import type { CandidateView, RunView, SubtaskView } from '../messages';
import { TextWithCode } from '../shared/TextWithCode';
import { useTrans } from '../shared/translation';
import type { IResultGroup } from './resultGroups';

export function BoardHeader(props: {
  run: RunView;
  subtask: SubtaskView;
  order: readonly CandidateView[];
  groups: readonly IResultGroup[];
  /** Whether there is a candidate that can be used, and one that can be edited. */
  can: { use: boolean; edit: boolean };
  /** A note about the controls; may be empty. */
  note: string;
  base: string | null;
  onBase: (id: string) => void;
}): React.JSX.Element {
  const trans = useTrans();
  const { run, subtask, order, groups, can, note, base } = props;
  const solution = subtask.id === run.solution?.id;
  return (
    <header className="jp-Explora-boardTop">
      <h2>
        {solution ? (
          trans.__('Solutions')
        ) : (
          <>
            {subtask.id}. <TextWithCode text={subtask.title} />
          </>
        )}
      </h2>
      <p>
        {trans._n('%1 candidate', '%1 candidates', order.length)}
        {', '}
        {describeResults(groups, trans)}
      </p>
      <label>
        {trans.__('Compare code with')}{' '}
        <select
          value={base ?? ''}
          onChange={event => props.onBase(event.target.value)}
        >
          {order.map(({ id }) => (
            <option key={id} value={id}>
              {id === subtask.selected
                ? trans.__('%1 (carried forward)', id)
                : id}
            </option>
          ))}
        </select>
      </label>
      <p className="jp-Explora-note">
        {trans.__('The arrow keys move between candidates.')}{' '}
        {describeKeys(can, trans)}
      </p>
      {note && <p className="jp-Explora-banner">{note}</p>}
    </header>
  );
}

/** What the keys do that work on this board. */
function describeKeys(
  can: { use: boolean; edit: boolean },
  trans: ReturnType<typeof useTrans>
): string {
  if (can.use) {
    return can.edit
      ? trans.__('U uses one, E edits it, B compares the others with it.')
      : trans.__('U uses one, B compares the others with it.');
  }
  return can.edit
    ? trans.__('E edits one, B compares the others with it.')
    : trans.__('B compares the others with one.');
}

function describeResults(
  groups: readonly IResultGroup[],
  trans: ReturnType<typeof useTrans>
): string {
  const results = groups.filter(({ candidates }) =>
    candidates.some(({ status }) => status === 'ok')
  ).length;
  return results
    ? trans._n('%1 result', '%1 different results', results)
    : trans.__('no result');
}

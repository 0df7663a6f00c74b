/** The board: the candidates of a subtask, or the solutions, side by side. */
import * as React from 'react';

import { isFinished } from '../link/runStatus';
import type { INotebookExplorations } from '../link/explorationInterface';
import type { CandidateView, RunView, SubtaskView } from '../messages';
import { canChoose, canEdit } from '../link/controlAvailability';
import { useControlRequests } from '../sidebar/controlRequests';
import { TextWithCode } from '../shared/TextWithCode';
import { useTrans } from '../shared/translation';
import type { IControlRequests } from '../sidebar/controlRequests';
import { BoardHeader } from './BoardHeader';
import { useBoardServices } from './boardContext';
import { canControlRun, controlNote } from './boardControlReasons';
import type { ICandidateContent } from './candidateContents';
import type { ColumnAction } from './Column';
import { Column } from './Column';
import { columnOfKey } from './columnKeys';
import type { IResultGroup } from './resultGroups';
import { executedCandidates, followRun, groupByResult } from './resultGroups';
import { useAnnouncement } from './useAnnouncement';
import { useColumnFocus } from './useColumnFocus';

/** The user's unfinished edits, by candidate. Kept outside of the components, which are made anew when the tab moves. */
export type Drafts = Map<string, string>;

interface IBoard {
  model: INotebookExplorations;
  run: string;
  subtask: string;
  /** What the cells of a run show of its candidates. */
  contentsOf: (runId: string) => ReadonlyMap<string, ICandidateContent>;
  drafts: Drafts;
}

export function Board(props: IBoard): React.JSX.Element {
  const trans = useTrans();
  const found = followRun(props.model.runs, props.run, props.subtask);
  if (!found) {
    return (
      <p className="jp-Explora-banner">
        {trans.__('The kernel no longer knows this run.')}
      </p>
    );
  }
  const [run, subtask] = found;
  return (
    <Comparison
      key={run.key}
      {...{ run, subtask }}
      model={props.model}
      contents={props.contentsOf(run.run_id)}
      drafts={props.drafts}
    />
  );
}

interface IComparison {
  model: INotebookExplorations;
  run: RunView;
  subtask: SubtaskView;
  contents: ReadonlyMap<string, ICandidateContent>;
  drafts: Drafts;
}

function Comparison(props: IComparison): React.JSX.Element {
  const trans = useTrans();
  const { model, run, subtask, contents, drafts } = props;
  const requests = useControlRequests(model, run);
  const candidates = executedCandidates(subtask);
  const groups = groupByResult(candidates, contents);
  const order = groups.flatMap(group => group.candidates);
  const [picked, setBase] = React.useState<string | null>(null);
  const base = baseOf(order, picked, subtask.selected);
  const focus = useColumnFocus(order, subtask.selected);
  const [, redraw] = React.useReducer((times: number) => times + 1, 0);
  const setDraft = (id: string, code: string | null) => {
    const opened = code === null || !drafts.has(id);
    if (code === null) {
      drafts.delete(id);
    } else {
      drafts.set(id, code);
    }
    if (opened) {
      redraw();
    }
  };
  const controllable = canControlRun(run, model);
  const isUsable = (candidate: CandidateView) =>
    controllable && canChoose(run, subtask, candidate);
  const isEditable = ({ id }: CandidateView) =>
    controllable && canEdit(run, subtask) && contents.has(id);
  const can = { use: order.some(isUsable), edit: order.some(isEditable) };
  const note = controlNote(run, subtask, model, trans);
  const controls = useBoardActions(props, requests, setDraft, setBase);
  const onRun = (id: string, code: string) => {
    focus.expectEditOf(id);
    controls.run(id, code);
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    const { candidate } = (event.target as HTMLElement).dataset;
    const index = order.findIndex(({ id }) => id === candidate);
    const to = index < 0 ? null : columnOfKey(event.key, index, order.length);
    if (to !== null) {
      event.preventDefault();
      event.stopPropagation();
      focus.move(order[to].id);
    }
  };
  const stable = useStableCallbacks(controls.act, setDraft, onRun);
  const announcement = useAnnouncement(subtask, trans);
  return (
    <div className="jp-Explora-board">
      <BoardHeader
        {...{ run, subtask, order, groups, can, note }}
        base={base}
        onBase={setBase}
      />
      <div
        ref={focus.scroller}
        className="jp-Explora-boardScroll"
        style={{ '--jp-explora-lines': longestCode(order, contents) } as never}
        onFocus={focus.onFocus}
        onBlur={focus.onBlur}
        onKeyDown={onKeyDown}
      >
        <ul
          className="jp-Explora-boardGroups"
          aria-label={trans.__('Groups of candidates')}
        >
          {groups.map(group => (
            <Group key={group.key} group={group}>
              {group.candidates.map(candidate => (
                <li key={candidate.id}>
                  <Column
                    candidate={candidate}
                    content={contents.get(candidate.id)}
                    base={codeToCompare(candidate.id, base, contents)}
                    isBase={candidate.id === base}
                    isSelected={isCarried(subtask, candidate)}
                    sameAs={others(group, candidate)}
                    isActive={candidate.id === focus.active}
                    canUse={isUsable(candidate)}
                    canEdit={isEditable(candidate)}
                    over={isFinished(run)}
                    isChoosing={requests.isPending('choose', candidate.id)}
                    isSending={requests.isPending('edit', candidate.id)}
                    draft={drafts.get(candidate.id) ?? null}
                    position={order.indexOf(candidate) + 1}
                    size={order.length}
                    {...stable}
                  />
                </li>
              ))}
            </Group>
          ))}
        </ul>
      </div>
      <Status requests={requests} announcement={announcement} />
    </div>
  );
}

/** A group of candidates with the same result, under one label. */
function Group(props: {
  group: IResultGroup;
  children: React.ReactNode;
}): React.JSX.Element {
  const trans = useTrans();
  const count = props.group.candidates.length;
  const label =
    count > 1
      ? trans._n(
          'Same result: %1 candidate',
          'Same result: %1 candidates',
          count
        )
      : '';
  return (
    <li className={`jp-Explora-boardGroup${label ? ' jp-mod-same' : ''}`}>
      {label && <h3>{label}</h3>}
      <ul aria-label={label || trans.__('A result of its own')}>
        {props.children}
      </ul>
    </li>
  );
}

/** What became of the user's latest request, and what changed meanwhile. */
function Status(props: {
  requests: IControlRequests;
  announcement: string;
}): React.JSX.Element {
  const { reply } = props.requests;
  const problem = reply?.problem ?? '';
  return (
    <div
      className={`jp-Explora-reply${problem ? ' jp-mod-problem' : ''}`}
      role="status"
      aria-live={problem ? 'assertive' : 'polite'}
    >
      {(problem || reply?.said || props.announcement) && (
        <span>
          <TextWithCode text={problem || reply?.said || props.announcement} />
        </span>
      )}
    </div>
  );
}

interface IBoardActions {
  act: (id: string, action: ColumnAction) => void;
  run: (id: string, code: string) => void;
}

function useBoardActions(
  props: IComparison,
  requests: IControlRequests,
  setDraft: (id: string, code: string | null) => void,
  setBase: (id: string) => void
): IBoardActions {
  const { confirmChoice } = useBoardServices();
  const { model, run, subtask, contents } = props;
  const use = async (candidate: CandidateView) => {
    const can = canControlRun(run, model) && canChoose(run, subtask, candidate);
    if (can && (!isFinished(run) || (await confirmChoice(candidate.id)))) {
      const { id } = candidate;
      requests.send('choose', model.choose(run.key, id), id);
    }
  };
  const act = (id: string, action: ColumnAction) => {
    const candidate = subtask.candidates.find(one => one.id === id);
    const content = contents.get(id);
    if (action === 'compare') {
      setBase(id);
    } else if (action === 'use' && candidate) {
      void use(candidate);
    } else if (
      action === 'edit' &&
      content &&
      canControlRun(run, model) &&
      canEdit(run, subtask)
    ) {
      setDraft(id, props.drafts.get(id) ?? content.code);
    }
  };
  const send = (id: string, code: string) => {
    const answer = model.edit(run.key, id, code);
    requests.send('edit', answer, id);
    void answer.then(({ problem }) => problem || setDraft(id, null));
  };
  return { act, run: send };
}

/** Callbacks with a stable identity that call the latest ones, so that columns are not rendered again for them. */
function useStableCallbacks(
  onAction: (id: string, action: ColumnAction) => void,
  onDraft: (id: string, code: string | null) => void,
  onRun: (id: string, code: string) => void
) {
  const latest = React.useRef({ onAction, onDraft, onRun });
  latest.current = { onAction, onDraft, onRun };
  return React.useMemo(
    () => ({
      onAction: (id: string, action: ColumnAction) =>
        latest.current.onAction(id, action),
      onDraft: (id: string, code: string | null) =>
        latest.current.onDraft(id, code),
      onRun: (id: string, code: string) => latest.current.onRun(id, code)
    }),
    []
  );
}

/** The candidate that the others are compared with: the user's choice, the selected one, or the first. */
function baseOf(
  order: readonly CandidateView[],
  picked: string | null,
  selected: string | null
): string | null {
  const there = [picked, selected].find(id =>
    order.some(candidate => candidate.id === id)
  );
  return there ?? order.at(0)?.id ?? null;
}

function codeToCompare(
  id: string,
  base: string | null,
  contents: ReadonlyMap<string, ICandidateContent>
): string | null {
  return base === null || base === id
    ? null
    : (contents.get(base)?.code ?? null);
}

function isCarried(subtask: SubtaskView, candidate: CandidateView): boolean {
  return subtask.selected === candidate.id && candidate.status === 'ok';
}

function others(group: IResultGroup, candidate: CandidateView): string {
  return group.candidates
    .filter(({ id }) => id !== candidate.id)
    .map(({ id }) => id)
    .join(', ');
}

function longestCode(
  order: readonly CandidateView[],
  contents: ReadonlyMap<string, ICandidateContent>
): number {
  const lines = order.map(
    ({ id }) => contents.get(id)?.code.trimEnd().split('\n').length ?? 1
  );
  return Math.max(1, ...lines);
}

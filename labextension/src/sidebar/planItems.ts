/**
 * The plan as a list of tree items: the visible items in order, each with its level. The list is flat, as ARIA allows,
 * so that keys move by index and a row is rendered again only if it changed.
 */
import type { ApiView, CandidateView, RunView, SubtaskView } from '../messages';
import type { IRunCell } from '../link/explorationInterface';

/** Number of candidates of a subtask that are shown until the user asks for all. */
export const VISIBLE_CANDIDATES = 12;

interface IItem {
  /** Unique in the run. */
  key: string;
  level: number;
  /** From 1, among `size` siblings. */
  position: number;
  size: number;
  /** Whether its children are shown; `null` if it has none. */
  open: boolean | null;
  /** The cell that the item represents. */
  cell: IRunCell | null;
}

export interface ISubtaskItem extends IItem {
  kind: 'subtask';
  subtask: SubtaskView;
}

export interface IApisItem extends IItem {
  kind: 'apis';
  apis: ApiView[];
}

export interface IApiItem extends IItem {
  kind: 'api';
  api: ApiView;
}

export interface ICandidateItem extends IItem {
  kind: 'candidate';
  subtask: SubtaskView;
  candidate: CandidateView;
}

export interface IMoreItem extends IItem {
  kind: 'more';
  hidden: number;
}

export type Item =
  ISubtaskItem | IApisItem | IApiItem | ICandidateItem | IMoreItem;

/** Items that the user has expanded or collapsed, by key. Other items have their default state. */
export type Folds = ReadonlyMap<string, boolean>;

/** Distributes over the union, which `Omit` does not. */
type UnplacedItem<T> = T extends Item ? Omit<T, 'position' | 'size'> : never;

/** The visible items of a run. `foldDone`: whether a subtask is collapsed when it is done. */
export function planItems(
  run: RunView,
  folds: Folds,
  foldDone: boolean
): Item[] {
  const all = run.solution ? [...run.subtasks, run.solution] : run.subtasks;
  return withPositions(
    all.map(subtask => subtaskItem(run, subtask, folds, foldDone))
  ).flatMap(item => [
    item,
    ...(item.open && item.kind === 'subtask' ? childItems(item, folds) : [])
  ]);
}

function withPositions(siblings: UnplacedItem<Item>[]): Item[] {
  return siblings.map(
    (item, index) =>
      ({ ...item, position: index + 1, size: siblings.length }) as Item
  );
}

function subtaskItem(
  run: RunView,
  subtask: SubtaskView,
  folds: Folds,
  foldDone: boolean
): UnplacedItem<ISubtaskItem> {
  const key = `subtask ${subtask.id}`;
  const parent = subtask.candidates.length + subtask.apis.length > 0;
  const byItself = subtask.status !== 'done' || !foldDone;
  const cell =
    subtask === run.solution ? { solution: true } : { subtask: subtask.id };
  return {
    kind: 'subtask',
    key,
    level: 1,
    open: parent ? (folds.get(key) ?? byItself) : null,
    cell,
    subtask
  };
}

function childItems(parent: ISubtaskItem, folds: Folds): Item[] {
  const { subtask } = parent;
  const own: UnplacedItem<Item>[] = [
    ...apisItem(subtask, folds),
    ...candidateItems(subtask, folds)
  ];
  return withPositions(own).flatMap(item => [
    item,
    ...(item.open && item.kind === 'apis'
      ? withPositions(apiItems(subtask, folds))
      : [])
  ]);
}

function apisItem(
  subtask: SubtaskView,
  folds: Folds
): UnplacedItem<IApisItem>[] {
  const key = `apis ${subtask.id}`;
  return subtask.apis.length
    ? [
        {
          kind: 'apis',
          key,
          level: 2,
          open: folds.get(key) ?? false,
          cell: null,
          apis: subtask.apis
        }
      ]
    : [];
}

function apiItems(
  subtask: SubtaskView,
  folds: Folds
): UnplacedItem<IApiItem>[] {
  return subtask.apis.map(api => {
    const key = `api ${subtask.id} ${api.path}`;
    const parent = api.signature !== '' || api.doc !== '';
    return {
      kind: 'api',
      key,
      level: 3,
      open: parent ? (folds.get(key) ?? false) : null,
      cell: null,
      api
    };
  });
}

/** The first few candidates, the running and the selected one. The others are represented by a "more" item. */
function candidateItems(
  subtask: SubtaskView,
  folds: Folds
): UnplacedItem<Item>[] {
  const more = `more ${subtask.id}`;
  const shown = subtask.candidates.filter(
    (candidate, index) =>
      folds.get(more) ||
      index < VISIBLE_CANDIDATES ||
      candidate.id === subtask.selected ||
      candidate.status === 'running'
  );
  const hidden = subtask.candidates.length - shown.length;
  const rows = shown.map(candidate => candidateItem(subtask, candidate));
  return hidden
    ? [
        ...rows,
        { kind: 'more', key: more, level: 2, open: false, cell: null, hidden }
      ]
    : rows;
}

function candidateItem(
  subtask: SubtaskView,
  candidate: CandidateView
): UnplacedItem<ICandidateItem> {
  return {
    kind: 'candidate',
    key: `candidate ${subtask.id} ${candidate.id} ${candidate.round}`,
    level: 2,
    open: null,
    cell: { candidate: candidate.id },
    subtask,
    candidate
  };
}

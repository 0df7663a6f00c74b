/**
 * The plan as a tree: subtasks, each with its APIs and candidates. Arrow keys, Home and End move the focus. A click
 * reveals the cell, Enter also focuses it. The active row shows its actions.
 */
import * as React from 'react';

import { isFinished } from '../link/runStatus';
import type { IRunCell } from '../link/explorationInterface';
import type { RunView } from '../messages';
import { useTrans } from '../shared/translation';
import type { Folds, Item } from './planItems';
import { planItems } from './planItems';
import { treeAction } from './treeKeys';
import {
  ApiRow,
  ApisRow,
  CandidateRow,
  MoreRow,
  SubtaskRow
} from './PlanTreeRows';

export function PlanTree(props: {
  run: RunView;
  foldDone: boolean;
  /** Reveals the cell. `focus`: also focus it. */
  go: (cell: IRunCell, focus: boolean) => void;
  /** Renders the actions of an item, below its row. */
  extra: (item: Item, back: () => void) => React.ReactNode;
}): React.JSX.Element {
  const trans = useTrans();
  const [folds, setFolds] = React.useState<Folds>(new Map());
  const [active, setActive] = React.useState<string | null>(null);
  const tree = React.useRef<HTMLUListElement>(null);
  const list = planItems(props.run, folds, props.foldDone);
  const at = list.findIndex(item => item.key === active);
  const tabbable = Math.max(0, at);

  const fold = (item: Item, open: boolean) =>
    setFolds(old => new Map(old).set(item.key, open));
  const focus = (index: number) => {
    setActive(list[index].key);
    (tree.current?.children[index] as HTMLElement | undefined)?.focus();
  };
  const activate = (item: Item, focus: boolean) => {
    if (item.cell) {
      props.go(item.cell, focus);
    } else if (item.open !== null) {
      fold(item, !item.open);
    }
  };
  const press = (key: string, on: 'row' | 'fold') => {
    const index = list.findIndex(item => item.key === key);
    focus(index);
    if (on === 'fold') {
      fold(list[index], !list[index].open);
    } else {
      activate(list[index], false);
    }
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    const { key } = (event.target as HTMLElement).dataset;
    const index = list.findIndex(item => item.key === key);
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
    const action =
      index >= 0 && plain ? treeAction(list, index, event.key) : null;
    if (!action) {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    setActive(list[index].key);
    if ('to' in action) {
      focus(action.to);
    } else if ('fold' in action) {
      fold(list[index], action.fold);
    } else {
      activate(list[index], event.key === 'Enter');
    }
  };
  const onPress = useStable(press);
  return (
    <ul
      ref={tree}
      role="tree"
      className="jp-Explora-tree"
      aria-label={trans.__('Plan, with candidates')}
      onKeyDown={onKeyDown}
    >
      {list.map((item, index) => (
        <ItemRow
          key={item.key}
          item={item}
          over={isFinished(props.run)}
          active={index === at}
          tabbable={index === tabbable}
          onPress={onPress}
          extra={
            index === at ? props.extra(item, () => focus(index)) : undefined
          }
        />
      ))}
    </ul>
  );
}

/** Renders one item as its kind of row, passing primitive values only. */
function ItemRow(props: {
  item: Item;
  /** Whether the run has ended. */
  over: boolean;
  active: boolean;
  tabbable: boolean;
  onPress: (key: string, on: 'row' | 'fold') => void;
  extra: React.ReactNode;
}): React.JSX.Element {
  const { item, over: ended, ...rest } = props;
  const { level, position, size, open } = item;
  const row = { ...rest, itemKey: item.key, level, position, size, open };
  switch (item.kind) {
    case 'subtask': {
      const { id, title, status, reason, hint, candidates } = item.subtask;
      const name = item.cell?.solution ? '' : `${id}.`;
      const count = candidates.length;
      return (
        <SubtaskRow
          {...{ ...row, name, title, status, reason, hint }}
          candidates={count}
          over={ended}
        />
      );
    }
    case 'apis': {
      const recommended = item.apis.filter(api => api.recommended).length;
      const used = item.apis.filter(api => api.used).length;
      return <ApisRow {...row} {...{ recommended, used }} />;
    }
    case 'api': {
      const { kind, ...api } = item.api;
      return <ApiRow {...row} {...api} apiKind={kind} />;
    }
    case 'candidate': {
      // The list of its APIs is a new object in each state of the run.
      const candidate = { ...item.candidate, apis: undefined };
      const selected = item.subtask.selected === candidate.id;
      const why = selected ? item.subtask.why.join('; ') : '';
      return <CandidateRow {...row} {...candidate} {...{ selected, why }} />;
    }
    case 'more':
      return <MoreRow {...row} hidden={item.hidden} />;
  }
}

/** A function with a stable identity that calls the latest callback. */
function useStable<A extends unknown[]>(
  latest: (...args: A) => void
): (...args: A) => void {
  const callback = React.useRef(latest);
  callback.current = latest;
  return React.useCallback((...args: A) => callback.current(...args), []);
}

/**
 * The column that has the focus or would get it. The focus stays in the column when the focused button disappears, and
 * moves to a candidate that the user has edited when that appears.
 */
import * as React from 'react';

import type { CandidateView } from '../messages';

export interface IColumnFocus {
  /** Id of the column that the Tab key reaches. */
  active: string | null;
  scroller: React.RefObject<HTMLDivElement>;
  move(id: string): void;
  /** Move the focus to the next candidate that is an edit of this one. */
  expectEditOf(id: string): void;
  onFocus(event: React.FocusEvent): void;
  onBlur(event: React.FocusEvent): void;
}

export function useColumnFocus(
  order: readonly CandidateView[],
  selected: string | null
): IColumnFocus {
  const scroller = React.useRef<HTMLDivElement>(null);
  const [picked, setActive] = React.useState<string | null>(null);
  const hasFocus = React.useRef(false);
  const expected = React.useRef<{ of: string; known: string[] } | null>(null);
  const there = [picked, selected].find(id =>
    order.some(candidate => candidate.id === id)
  );
  const active = there ?? order.at(0)?.id ?? null;
  const columnOf = (id: string | null) =>
    scroller.current?.querySelector<HTMLElement>(
      `[data-candidate="${CSS.escape(id ?? '')}"]`
    );
  const move = (id: string) => {
    setActive(id);
    const column = columnOf(id);
    column?.focus();
    column?.scrollIntoView?.({ block: 'nearest', inline: 'nearest' });
  };
  React.useEffect(() => {
    const { of, known } = expected.current ?? { of: '', known: [] };
    const edited = order.find(
      ({ id, edits }) => edits === of && !known.includes(id)
    );
    if (of && edited) {
      expected.current = null;
      move(edited.id);
    } else if (hasFocus.current && isFocusLost()) {
      columnOf(active)?.focus();
    }
  });
  return {
    active,
    scroller,
    move,
    expectEditOf: of => {
      expected.current = { of, known: order.map(({ id }) => id) };
    },
    onFocus: event => {
      hasFocus.current = true;
      const column = (event.target as HTMLElement).closest<HTMLElement>(
        '[data-candidate]'
      );
      setActive(column?.dataset.candidate ?? null);
    },
    onBlur: event => {
      const { target, relatedTarget } = event;
      if (relatedTarget) {
        hasFocus.current = !!scroller.current?.contains(relatedTarget);
        return;
      }
      // Browsers also send this event for an element that is about to be removed.
      queueMicrotask(() => {
        if (target.isConnected && isFocusLost()) {
          hasFocus.current = false;
        }
      });
    }
  };
}

function isFocusLost(): boolean {
  const active = document.activeElement;
  return active === null || active === document.body;
}

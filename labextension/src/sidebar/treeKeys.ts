/**
 * Keyboard handling of the tree, following the ARIA practices for tree views.
 */
import type { Item } from './planItems';

/** The effect of a key: focus another item, expand or collapse this one, or go to its cell. */
export type TreeAction =
  { to: number } | { fold: boolean } | { activate: true } | null;

/** The effect of `key` on the item at `index`; `null` if the key is not handled. */
export function treeAction(
  items: Item[],
  index: number,
  key: string
): TreeAction {
  switch (key) {
    case 'ArrowDown':
      return { to: Math.min(index + 1, items.length - 1) };
    case 'ArrowUp':
      return { to: Math.max(index - 1, 0) };
    case 'Home':
      return { to: 0 };
    case 'End':
      return { to: items.length - 1 };
    case 'ArrowRight':
      return expandOrEnter(items, index);
    case 'ArrowLeft':
      return collapseOrLeave(items, index);
    case 'Enter':
      return { activate: true };
    case ' ':
      return items[index].open === null
        ? { activate: true }
        : { fold: !items[index].open };
    default:
      return null;
  }
}

function expandOrEnter(items: Item[], index: number): TreeAction {
  const { open, level } = items[index];
  if (open === false) {
    return { fold: true };
  }
  const next = items[index + 1];
  return { to: open && next && next.level > level ? index + 1 : index };
}

function collapseOrLeave(items: Item[], index: number): TreeAction {
  const { open, level } = items[index];
  if (open) {
    return { fold: false };
  }
  for (let above = index - 1; above >= 0; above--) {
    if (items[above].level < level) {
      return { to: above };
    }
  }
  return { to: index };
}

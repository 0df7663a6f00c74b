/**
 * Keeps the keyboard focus in the sidebar when what has it is taken away: a run redraws its buttons and rows several
 * times a second, and the browser would give the focus to the page's body.
 */
import type { IDisposable } from '@lumino/disposable';

const FOCUSABLE =
  'button, a[href], input, select, textarea, summary, [tabindex="0"]';

/** Where a focused element is, for when it goes away. */
interface IPosition {
  /** Keys of the tree item that it is in and of that item's parents, the nearest first. */
  rows: string[];
  /** Its number among all that takes the focus. */
  index: number;
}

export class FocusKeeper implements IDisposable {
  /** @param node - the sidebar */
  constructor(private node: HTMLElement) {
    node.addEventListener('focusin', this.onFocusIn);
    node.addEventListener('focusout', this.onFocusOut);
    this.observer = new MutationObserver(() => this.follow());
    this.observer.observe(node, { childList: true, subtree: true });
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  dispose(): void {
    this._isDisposed = true;
    this.observer.disconnect();
    this.node.removeEventListener('focusin', this.onFocusIn);
    this.node.removeEventListener('focusout', this.onFocusOut);
  }

  private onFocusIn = (event: FocusEvent): void => {
    this.focused = event.target as HTMLElement;
    this.position = this.positionOf(this.focused);
  };

  private onFocusOut = (event: FocusEvent): void => {
    if (event.relatedTarget) {
      this.focused = null;
      return;
    }
    // Browsers send this for an element that is removed, too, and before it is.
    queueMicrotask(() => {
      if (this.focused?.isConnected && isFocusLost()) {
        this.focused = null;
      }
    });
  };

  private follow(): void {
    if (this.focused?.isConnected) {
      this.position = this.positionOf(this.focused);
    } else if (this.focused) {
      this.focused = null;
      if (isFocusLost()) {
        this.successor()?.focus();
      }
    }
  }

  private positionOf(element: HTMLElement): IPosition {
    const row = element.closest('[role="treeitem"]');
    return {
      rows: row ? rowAndParents(row) : [],
      index: this.focusable().indexOf(element)
    };
  }

  /** The row that it was in, or that row's parent; else what now has its place. */
  private successor(): HTMLElement | undefined {
    const { rows, index } = this.position;
    const items = [
      ...this.node.querySelectorAll<HTMLElement>('[role="treeitem"]')
    ];
    const row = rows
      .map(key => items.find(item => item.dataset.key === key))
      .find(item => item !== undefined);
    const others = this.focusable();
    return row ?? others[Math.max(0, Math.min(index, others.length - 1))];
  }

  private focusable(): HTMLElement[] {
    const found = this.node.querySelectorAll<HTMLElement>(FOCUSABLE);
    return [...found].filter(element => !element.matches(':disabled'));
  }

  private focused: HTMLElement | null = null;
  private position: IPosition = { rows: [], index: 0 };
  private observer: MutationObserver;
  private _isDisposed = false;
}

function isFocusLost(): boolean {
  const active = document.activeElement;
  return active === null || active === document.body;
}

/** The tree is a flat list: a parent is the nearest row before that has a lower level. */
function rowAndParents(row: Element): string[] {
  const keys: string[] = [];
  let level = Infinity;
  for (let at: Element | null = row; at; at = at.previousElementSibling) {
    const own = Number(at.getAttribute('aria-level'));
    if (own < level) {
      level = own;
      keys.push((at as HTMLElement).dataset.key ?? '');
    }
  }
  return keys;
}

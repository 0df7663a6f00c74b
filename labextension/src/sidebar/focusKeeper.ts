/**
 * Keeps the keyboard focus in the sidebar when the focused element is removed: a run renders its buttons and rows
 * several times a second, and the browser would move the focus to the page's body.
 */
import type { IDisposable } from '@lumino/disposable';

const FOCUSABLE =
  'button, a[href], input, select, textarea, summary, [tabindex="0"]';

/** The position of the focused element, used when it is removed. */
interface IPosition {
  /** Keys of its tree item and of that item's ancestors, nearest first. */
  rows: string[];
  /** Its index among all focusable elements. */
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
    // Browsers also send this event for an element that is about to be removed.
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

  /** The element to focus instead: its row or the nearest ancestor row, otherwise the element now at its index. */
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

/**
 * The keys of a row and its ancestors. The tree is a flat list: a parent is the nearest preceding row with a lower
 * level.
 */
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

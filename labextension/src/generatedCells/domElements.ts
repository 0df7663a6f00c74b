/** Helpers for elements that are made without a framework. */

/** Append an element with a class and a text. */
export function appendElement<K extends keyof HTMLElementTagNameMap>(
  parent: HTMLElement,
  tag: K,
  name: string,
  text = ''
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  if (name) {
    node.className = name;
  }
  node.textContent = text;
  parent.appendChild(node);
  return node;
}

/** A button of a badge or card: its action is found by `data-action`. */
export interface IActionButton<A extends string = string> {
  action: A;
  label: string;
  caption: string;
  disabled: boolean;
  /** How much it stands out: as the one that is filled, as any other, or below a menu. */
  rank?: 'primary' | 'menu';
}

/** Append a button. One that is disabled keeps the focus, which a disabled element would lose. */
export function appendButton<A extends string>(
  parent: HTMLElement,
  shown: IActionButton<A>,
  onAction: (action: A) => void
): HTMLButtonElement {
  const name = 'jp-Explora-badge-button';
  const button = appendElement(parent, 'button', name, shown.label);
  button.classList.toggle('jp-mod-primary', shown.rank === 'primary');
  button.type = 'button';
  button.title = shown.caption;
  button.dataset.action = shown.action;
  button.setAttribute('aria-disabled', String(shown.disabled));
  button.onclick = () => {
    if (!shown.disabled) {
      onAction(shown.action);
    }
  };
  return button;
}

/** The action of the button in this element that has the focus. */
export function focusedAction(node: HTMLElement): string | undefined {
  const active = document.activeElement;
  return active instanceof HTMLElement && node.contains(active)
    ? active.dataset.action
    : undefined;
}

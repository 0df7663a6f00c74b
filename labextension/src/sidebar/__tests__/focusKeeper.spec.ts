import { FocusKeeper } from '../focusKeeper';

function make(
  tag: string,
  attributes: Record<string, string>,
  ...children: HTMLElement[]
): HTMLElement {
  const made = document.createElement(tag);
  Object.entries(attributes).forEach(pair => made.setAttribute(...pair));
  made.append(...children);
  return made;
}

function item(
  key: string,
  level: number,
  tabindex: number,
  ...children: HTMLElement[]
): HTMLElement {
  const attributes = {
    role: 'treeitem',
    'aria-level': `${level}`,
    'data-key': key,
    tabindex: `${tabindex}`
  };
  return make('li', attributes, ...children);
}

let node: HTMLElement;
let keeper: FocusKeeper;

beforeEach(() => {
  node = make(
    'div',
    {},
    make('button', { id: 'stop' }),
    make('button', { id: 'open' }),
    make(
      'ul',
      { role: 'tree' },
      item('subtask 1', 1, 0),
      item('candidate 1.1', 2, -1, make('button', { id: 'choose' })),
      item('subtask 2', 1, -1)
    )
  );
  document.body.appendChild(node);
  keeper = new FocusKeeper(node);
});

afterEach(() => {
  keeper.dispose();
  node.remove();
});

const at = (selector: string) => node.querySelector<HTMLElement>(selector)!;
const focused = () => document.activeElement;
const row = (key: string) => at(`[data-key="${key}"]`);

/** Wait until mutations have been observed. */
const drawn = () => new Promise(resolve => setTimeout(resolve, 0));

it('moves to the element that replaces a removed button', async () => {
  // Issue 14, item 23: the focus fell to the body.
  at('#stop').focus();
  at('#stop').remove();
  await drawn();
  expect(focused()).toBe(at('#open'));
});

it.each([
  ['#choose', '#choose', 'candidate 1.1'],
  ['#choose', '[data-key="candidate 1.1"]', 'subtask 1'],
  ['[data-key="candidate 1.1"]', '[data-key="candidate 1.1"]', 'subtask 1']
])('stays in the tree: %s', async (on, gone, then) => {
  at(on).focus();
  at(gone).remove();
  await drawn();
  expect(focused()).toBe(row(then));
});

it('counts elements that were added before one was removed', async () => {
  at('#open').focus();
  node.prepend(document.createElement('button'));
  await drawn();
  at('#open').remove();
  await drawn();
  expect(focused()).toBe(row('subtask 1'));
});

it('does not take a focus that is elsewhere', async () => {
  at('#stop').focus();
  at('#stop').blur();
  await drawn();
  at('#stop').remove();
  await drawn();
  expect(focused()).toBe(document.body);

  const editor = document.body.appendChild(document.createElement('textarea'));
  at('#open').focus();
  editor.focus();
  at('#open').remove();
  await drawn();
  expect(focused()).toBe(editor);
  editor.remove();
});

import { FocusKeeper } from '../focus';

let node: HTMLElement;
let keeper: FocusKeeper;

beforeEach(() => {
  node = document.createElement('div');
  node.innerHTML = `
    <button id="stop">Stop</button><button id="open">Open trace</button>
    <ul role="tree">
      <li role="treeitem" aria-level="1" data-key="subtask 1" tabindex="0"></li>
      <li role="treeitem" aria-level="2" data-key="candidate 1.1" tabindex="-1">
        <button id="choose">Use this one instead</button>
      </li>
      <li role="treeitem" aria-level="1" data-key="subtask 2" tabindex="-1"></li>
    </ul>`;
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

/** Mutations have been observed. */
const drawn = () => new Promise(resolve => setTimeout(resolve, 0));

it('goes to what takes the place of a button that goes away', async () => {
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

it('counts what was added before an element went away', async () => {
  at('#open').focus();
  node.prepend(document.createElement('button'));
  await drawn();
  at('#open').remove();
  await drawn();
  expect(focused()).toBe(row('subtask 1'));
});

it('takes no focus that the user has elsewhere', async () => {
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

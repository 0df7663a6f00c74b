import { nullTranslator } from '@jupyterlab/translation';

import type { RunView } from '../../messages';
import { runView } from '../../generatedCells/__tests__/runFixtures';
import { cardButtons, ICardSubject } from '../cardButtons';

const trans = nullTranslator.load('exploracoder_jupyter');
const READY = { link: 'ready', isPending: () => false } as const;

function actions(
  run: Partial<RunView> | undefined,
  fields: Partial<ICardSubject> = {},
  model: Parameters<typeof cardButtons>[1] = READY,
  comparable = false
): string[] {
  const subject = {
    runId: 'r1',
    run: run && runView(run),
    hasCells: true,
    ...fields
  };
  return cardButtons(subject, model, () => comparable, trans).map(
    ({ action }) => action
  );
}

it('a run can be stopped while it runs, and nothing else', () => {
  expect(actions({ status: 'running', code: 'x' })).toEqual(['stop']);
});

it('a plan under review can be begun with', () => {
  expect(actions({ status: 'reviewing' })).toEqual(['begin', 'stop']);
});

it('nothing is offered that the kernel would not hear', () => {
  const lost = { link: 'none', isPending: () => false } as const;
  expect(actions({ status: 'running' }, {}, lost)).toEqual([]);
  const ended = { status: 'solved', code: 'x', trace: 't' } as const;
  expect(actions(ended, {}, lost)).toEqual(['run', 'follow', 'go', 'remove']);
});

it('what was asked for is shown as such and asked once', () => {
  const model = { link: 'ready', isPending: () => true } as const;
  const subject = { runId: 'r1', run: runView(), hasCells: true };
  const [stop] = cardButtons(subject, model, () => false, trans);
  expect(stop.disabled).toBe(true);
  expect(stop.label).toContain('…');
});

it('a result leads to its solution, and can be exported and removed', () => {
  const ended = { status: 'solved', code: 'x', trace: 't' } as const;
  expect(actions(ended)).toEqual(['run', 'follow', 'go', 'export', 'remove']);
  expect(actions(ended, { hasCells: false })).not.toContain('remove');
});

it('one button stands out and what is seldom wanted is in a menu', () => {
  const run = runView({ status: 'solved', code: 'x', trace: 't' });
  const rankOf = (solution?: string) =>
    Object.fromEntries(
      cardButtons(
        { runId: 'r1', run, hasCells: true, solution },
        READY,
        () => true,
        trans
      ).map(({ action, rank }) => [action, rank])
    );
  expect(rankOf('there')).toEqual({
    run: 'primary',
    follow: undefined,
    go: 'menu',
    compare: 'menu',
    export: 'menu',
    remove: 'menu'
  });
  expect(rankOf().go).toBeUndefined();
});

it('a patch is applied, or undone once it is', () => {
  const ended = { status: 'solved', code: 'x', trace: 't' } as const;
  const ready = { ...ended, patch: 'ready' } as const;
  expect(actions(ready)).toEqual(['apply', 'export', 'remove']);
  expect(actions({ ...ended, patch: 'applied' })).toContain('undo');
});

it('candidates are compared only where there is a command for it', () => {
  const ended = { status: 'solved', code: 'x' } as const;
  expect(actions(ended, {}, READY, true)).toContain('compare');
});

it('there is nothing to run where nothing was found', () => {
  expect(actions({ status: 'unsolved', trace: 't' })).toEqual([
    'export',
    'remove'
  ]);
});

it('cells of an earlier kernel keep their buttons', () => {
  expect(actions(undefined, { solution: 'there' })).toEqual([
    'run',
    'go',
    'remove'
  ]);
});

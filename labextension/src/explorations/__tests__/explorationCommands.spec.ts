import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';

import type { RunView } from '../../messages';
import { CommandIDs, Commands } from '../explorationCommands';
import type { ExplorationRegistry } from '../explorationRegistry';
import type { IMark } from '../../generatedCells/generatedCell';
import { runView } from '../../generatedCells/__tests__/runFixtures';

const trans = nullTranslator.load('exploracoder_jupyter');

let commands: CommandRegistry;
let runs: RunView[];
let removed: string[];
let kept: boolean[];
let cells: { model: { getMetadata: () => Partial<IMark> | undefined } }[];
let active: number;

const cellOf = (run?: string, role = 'candidate') => ({
  model: { getMetadata: () => run && { role, run_id: run } }
});

beforeEach(() => {
  commands = new CommandRegistry();
  runs = [runView({ run_id: 'r1' }), runView({ key: 'k2', run_id: 'r2' })];
  removed = [];
  kept = [];
  cells = [undefined, 'r2', 'r1'].map(run => cellOf(run)) as typeof cells;
  active = 0;
  const model = {
    get runs() {
      return runs;
    },
    remove: (run: string, { keepSolution }: { keepSolution: boolean }) => {
      kept.push(keepSolution);
      return removed.push(run);
    },
    panel: {
      content: {
        get widgets() {
          return cells;
        },
        get activeCell() {
          return cells[active];
        }
      }
    }
  };
  new Commands(
    { commands } as unknown as JupyterFrontEnd,
    { current: model } as unknown as ExplorationRegistry,
    trans
  );
});

afterEach(() => Notification.dismiss());

describe('removal', () => {
  it('applies to the run of the active cell', async () => {
    active = 2;
    await commands.execute(CommandIDs.remove);
    expect(removed).toEqual(['r1']);
  });

  it('applies to the latest run if the active cell belongs to none', async () => {
    await commands.execute(CommandIDs.remove);
    expect(removed).toEqual(['r2']);
  });

  it('applies to the latest run that still has cells', async () => {
    cells = [undefined, 'r1'].map(run => cellOf(run)) as typeof cells;
    await commands.execute(CommandIDs.remove);
    expect(removed).toEqual(['r1']);
  });

  it('applies to the last run in the notebook if the kernel knows none', async () => {
    runs = [];
    await commands.execute(CommandIDs.remove);
    expect(removed).toEqual(['r1']);
  });

  it('reports that the run was stopped', async () => {
    await commands.execute(CommandIDs.remove, { run: 'r1' });
    const [notification] = Notification.manager.notifications.slice(-1);
    expect(notification.message).toContain('and stopped the run.');
  });

  it('does not report that for a run that has ended', async () => {
    runs = [runView({ status: 'solved' })];
    await commands.execute(CommandIDs.remove, { run: 'r1' });
    const [notification] = Notification.manager.notifications.slice(-1);
    expect(notification.message).not.toContain('stopped');
  });

  describe('where there is a solution', () => {
    const answer = async (check: boolean, label: string) => {
      const asked = commands.execute(CommandIDs.remove, { run: 'r1' });
      await new Promise(resolve => setTimeout(resolve));
      const box = document.querySelector<HTMLInputElement>('[type=checkbox]')!;
      expect(box.checked).toBe(true);
      expect(removed).toEqual([]);
      box.checked = check;
      const buttons = [...document.querySelectorAll('button')];
      buttons.find(({ textContent }) => textContent === label)!.click();
      await asked;
      return kept;
    };

    beforeEach(() => {
      cells.push(cellOf('r1', 'solution') as (typeof cells)[number]);
    });

    it('asks whether to keep it, and keeps it by default', async () => {
      expect(await answer(true, 'Remove')).toEqual([true]);
    });

    it('removes it too if the user chooses so', async () => {
      expect(await answer(false, 'Remove')).toEqual([false]);
    });

    it('removes nothing if the user cancels', async () => {
      expect(await answer(true, 'Cancel')).toEqual([]);
    });

    it('does not ask if the argument is given', async () => {
      await commands.execute(CommandIDs.remove, {
        run: 'r1',
        keepSolution: true
      });
      expect(kept).toEqual([true]);
    });
  });

  it('is offered only where there is something to remove', () => {
    expect(commands.isEnabled(CommandIDs.remove)).toBe(true);
    cells = [cellOf()] as typeof cells;
    expect(commands.isEnabled(CommandIDs.remove)).toBe(false);
  });
});

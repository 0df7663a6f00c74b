import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import { nullTranslator } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';

import type { RunView } from '../../messages';
import { CommandIDs, Commands } from '../commands';
import type { Explorations } from '../explorations';
import type { IMark } from '../mark';
import { runView } from './runs';

const trans = nullTranslator.load('exploracoder_jupyter');

let commands: CommandRegistry;
let runs: RunView[];
let removed: string[];
let cells: { model: { getMetadata: () => Partial<IMark> | undefined } }[];
let active: number;

const cellOf = (run?: string) => ({
  model: { getMetadata: () => run && { role: 'candidate', run_id: run } }
});

beforeEach(() => {
  commands = new CommandRegistry();
  runs = [runView({ run_id: 'r1' }), runView({ key: 'k2', run_id: 'r2' })];
  removed = [];
  cells = [undefined, 'r2', 'r1'].map(cellOf) as typeof cells;
  active = 0;
  const model = {
    get runs() {
      return runs;
    },
    remove: (run: string) => removed.push(run),
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
    { current: model } as unknown as Explorations,
    trans
  );
});

afterEach(() => Notification.dismiss());

describe('removal', () => {
  it('is of the run of the active cell', async () => {
    active = 2;
    await commands.execute(CommandIDs.remove);
    expect(removed).toEqual(['r1']);
  });

  it('is of the latest run elsewhere', async () => {
    await commands.execute(CommandIDs.remove);
    expect(removed).toEqual(['r2']);
  });

  it('is of the latest run that is still there', async () => {
    cells = [undefined, 'r1'].map(cellOf) as typeof cells;
    await commands.execute(CommandIDs.remove);
    expect(removed).toEqual(['r1']);
  });

  it('is of the last run in the notebook where the kernel knows none', async () => {
    runs = [];
    await commands.execute(CommandIDs.remove);
    expect(removed).toEqual(['r1']);
  });

  it('says that the run was stopped', async () => {
    await commands.execute(CommandIDs.remove, { run: 'r1' });
    const [said] = Notification.manager.notifications.slice(-1);
    expect(said.message).toContain('and stopped the run.');
  });

  it('says no such thing of a run that has ended', async () => {
    runs = [runView({ status: 'solved' })];
    await commands.execute(CommandIDs.remove, { run: 'r1' });
    const [said] = Notification.manager.notifications.slice(-1);
    expect(said.message).not.toContain('stopped');
  });

  it('is offered only where there is something to remove', () => {
    expect(commands.isEnabled(CommandIDs.remove)).toBe(true);
    cells = [undefined].map(cellOf) as typeof cells;
    expect(commands.isEnabled(CommandIDs.remove)).toBe(false);
  });
});

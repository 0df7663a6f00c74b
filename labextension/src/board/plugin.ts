/** The plugin that compares the candidates of a subtask side by side. */
import {
  ILabShell,
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { IEditorServices } from '@jupyterlab/codeeditor';
import { IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';

import { COMPARE, IExplorations } from '../link/explorationInterface';
import { markOf } from '../generatedCells/generatedCell';
import type { RunView, SubtaskView } from '../messages';
import type { IBoardTarget } from './openBoards';
import { OpenBoards } from './openBoards';
import { canCompare, subtasksOf } from './resultGroups';

const ARGS = {
  type: 'object',
  properties: {
    run: {
      type: 'string',
      description:
        'The run; defaults to the run of the active cell, or else the latest run'
    },
    subtask: {
      type: 'string',
      description:
        'The subtask, or `solution`; defaults to that of the active cell, or else the latest one with candidates'
    }
  }
};

const board: JupyterFrontEndPlugin<void> = {
  id: 'exploracoder-jupyter:board',
  description: 'Compares the candidates of a subtask side by side.',
  autoStart: true,
  requires: [IExplorations, INotebookTracker, IEditorServices],
  optional: [ITranslator, ICommandPalette, ILabShell, IEditorLanguageRegistry],
  activate: (
    app: JupyterFrontEnd,
    explorations: IExplorations,
    tracker: INotebookTracker,
    editors: IEditorServices,
    translator: ITranslator | null,
    palette: ICommandPalette | null,
    labShell: ILabShell | null,
    languages: IEditorLanguageRegistry | null
  ): void => {
    const trans = (translator ?? nullTranslator).load('exploracoder_jupyter');
    const boards = new OpenBoards(
      app.shell,
      labShell !== null,
      editors,
      languages,
      trans
    );
    const find = (args: ReadonlyPartialJSONObject) =>
      findTarget(explorations, tracker, args);
    app.commands.addCommand(COMPARE, {
      label: trans.__('Compare Candidates'),
      caption: trans.__(
        'Compare the candidates of a subtask side by side, and use or edit one'
      ),
      describedBy: { args: ARGS },
      isEnabled: args => find(args) !== null,
      isVisible: args => find(args) !== null,
      execute: args => {
        const target = find(args);
        if (target) {
          boards.open(target);
        }
      }
    });
    const category = trans.__('Exploration');
    palette?.addItem({ command: COMPARE, category });
    app.contextMenu.addItem({
      command: COMPARE,
      selector: '.jp-Explora-cell',
      rank: 19
    });
  }
};

/** What the arguments, the active cell and the current notebook refer to; `null` if there is nothing to compare. */
function findTarget(
  explorations: IExplorations,
  tracker: INotebookTracker,
  args: ReadonlyPartialJSONObject
): IBoardTarget | null {
  const panel = tracker.currentWidget;
  const model = explorations.current;
  if (!panel || !model) {
    return null;
  }
  const active = panel.content.activeCell;
  const mark = active && markOf(active.model);
  const named = args.run ?? mark?.run_id;
  const run =
    model.runs.find(({ key, run_id }) => [key, run_id].includes(`${named}`)) ??
    (args.run === undefined ? model.runs.at(-1) : undefined);
  const subtask = run && findSubtask(run, args.subtask, mark?.subtask);
  return subtask ? { panel, model, run, subtask } : null;
}

function findSubtask(
  run: RunView,
  wanted: unknown,
  active: string | undefined
): SubtaskView | undefined {
  const comparable = subtasksOf(run).filter(canCompare);
  const named = comparable.find(({ id }) => id === (wanted ?? active));
  return named ?? (wanted === undefined ? comparable.at(-1) : undefined);
}

export const plugins: JupyterFrontEndPlugin<unknown>[] = [board];

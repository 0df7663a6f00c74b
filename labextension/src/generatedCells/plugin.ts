/** The plugins that show a run's cells in the open notebook and guard recorded ones. */
import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import {
  INotebookCellExecutor,
  INotebookTracker,
  NotebookPanel
} from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { CardActions } from '../card/cardActions';
import { provideKernelSide } from '../link/kernelSide';
import { claimPageId } from '../link/pageId';
import { IExplorations } from '../link/explorationInterface';
import { Commands } from '../explorations/explorationCommands';
import { ExplorationRegistry } from '../explorations/explorationRegistry';
import { needsPackage } from './callingCells';
import { ExplorationCellExecutor } from './cellExecutor';
import { decorateNotebook } from './notebookDecorations';
import { ReplacementGuard } from './replacementGuard';

const DOMAIN = 'exploracoder_jupyter';

/** The explorations, once there are any: the plugin for them requires the tracker, which requires the executor. */
let registry: ExplorationRegistry | null = null;

const explorations: JupyterFrontEndPlugin<IExplorations> = {
  id: 'exploracoder-jupyter:cells',
  description: 'Shows the cells of explorations in the open notebook.',
  autoStart: true,
  requires: [INotebookTracker],
  optional: [ITranslator, ICommandPalette],
  provides: IExplorations,
  activate: (
    app: JupyterFrontEnd,
    tracker: INotebookTracker,
    translator: ITranslator | null,
    palette: ICommandPalette | null
  ): IExplorations => {
    const trans = (translator ?? nullTranslator).load(DOMAIN);
    const found = new ExplorationRegistry(tracker, claimPageId(), trans);
    registry = found;
    const commands = new Commands(app, found, trans);
    commands.addToContextMenu();
    if (palette) {
      commands.addToPalette(palette);
    }
    const cardActions = new CardActions(app, trans);
    const decorate = (panel: NotebookPanel) =>
      decorateNotebook(app, panel, found.forPanel(panel)!, cardActions, trans);
    tracker.forEach(decorate);
    found.panelAdded.connect((_, panel) => decorate(panel));
    return found;
  }
};

/**
 * Replaces `@jupyterlab/notebook-extension:cell-executor`: of two plugins that provide a token, the one registered last
 * is used, and extensions are registered after the core. The core plugin is not disabled, so that cells still run if
 * this extension cannot be loaded.
 */
const executor: JupyterFrontEndPlugin<INotebookCellExecutor> = {
  id: 'exploracoder-jupyter:executor',
  description:
    'Runs notebook cells, except recorded candidates, and asks before a solution replaces given variables.',
  autoStart: true,
  optional: [ITranslator],
  provides: INotebookCellExecutor,
  activate: (
    _: JupyterFrontEnd,
    translator: ITranslator | null
  ): INotebookCellExecutor => {
    const trans = (translator ?? nullTranslator).load(DOMAIN);
    const guard = new ReplacementGuard(
      notebook => registry?.forModel(notebook),
      trans
    );
    return new ExplorationCellExecutor(trans, undefined, guard, prepareKernel);
  }
};

/** Give the kernel the package before a cell that needs it, unless the kernel is known to have it. */
function prepareKernel({
  cell,
  notebook,
  sessionContext
}: INotebookCellExecutor.IRunCellOptions): Promise<void> | undefined {
  const kernel = sessionContext?.session?.kernel;
  const isReady = registry?.forModel(notebook)?.link === 'ready';
  return kernel && !isReady && needsPackage(cell.model.sharedModel)
    ? provideKernelSide(kernel)
    : undefined;
}

export const plugins: JupyterFrontEndPlugin<unknown>[] = [
  explorations,
  executor
];

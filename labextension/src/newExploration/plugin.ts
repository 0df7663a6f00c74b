/** The plugin of the forms and commands that start explorations. */
import type {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { ILauncher } from '@jupyterlab/launcher';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { IExplorations } from '../link/explorationInterface';
import { addCellCommands, CellCommandIDs } from './cellCommands';
import {
  addNewExplorationCommands,
  NewExplorationCommandIDs
} from './startCommands';
import { FormServices } from './formServices';
import { IFormServices } from './formServicesToken';
import { offerToLoadExtension } from './loadExtensionOffer';

const forms: JupyterFrontEndPlugin<IFormServices> = {
  id: 'exploracoder-jupyter:entry',
  description: 'Starts explorations from forms and commands.',
  autoStart: true,
  requires: [IExplorations, INotebookTracker],
  optional: [ITranslator, ICommandPalette, ILauncher],
  provides: IFormServices,
  activate: (
    app: JupyterFrontEnd,
    explorations: IExplorations,
    tracker: INotebookTracker,
    translator: ITranslator | null,
    palette: ICommandPalette | null,
    launcher: ILauncher | null
  ): IFormServices => {
    const trans = (translator ?? nullTranslator).load('exploracoder_jupyter');
    const found = new FormServices(tracker, explorations);
    addNewExplorationCommands(app, found, tracker, explorations, trans);
    addCellCommands(app, found, tracker, trans);
    offerToLoadExtension(tracker, trans);
    const category = trans.__('Exploration');
    for (const command of Object.values({
      ...NewExplorationCommandIDs,
      ...CellCommandIDs
    })) {
      palette?.addItem({ command, category });
    }
    launcher?.add({
      command: NewExplorationCommandIDs.new,
      category: trans.__('Notebook'),
      rank: 100,
      args: { isLauncher: true }
    });
    return found;
  }
};

export const plugins: JupyterFrontEndPlugin<unknown>[] = [forms];

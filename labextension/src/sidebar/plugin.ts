/**
 * The plugin of the sidebar, which shows and controls runs.
 */
import {
  ILayoutRestorer,
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import {
  ITranslator,
  nullTranslator,
  TranslationBundle
} from '@jupyterlab/translation';

import {
  addSubtaskCommands,
  findSubject,
  SubtaskCommandIDs
} from '../explorations/subtaskCommands';
import { IFormServices } from '../newExploration/formServicesToken';
import { IExplorations } from '../link/explorationInterface';
import { HostServices, SHOW_SIDEBAR } from './hostServices';
import { DEFAULTS, IPreferences } from './sidebarPreferences';
import { explorationIcon } from '../shared/icons';
import { SidebarOpener } from './sidebarOpener';
import { SIDEBAR_ID, SidebarWidget } from './sidebarWidget';

const CommandIDs = {
  showSidebar: SHOW_SIDEBAR,
  insertExample: 'exploracoder:insert-example',
  openTrace: 'exploracoder:open-trace'
};

const sidebar: JupyterFrontEndPlugin<void> = {
  id: 'exploracoder-jupyter:sidebar',
  description: 'Shows and controls the explorations of the current notebook.',
  autoStart: true,
  requires: [IExplorations, INotebookTracker, IFormServices],
  optional: [ITranslator, ILayoutRestorer, ISettingRegistry, ICommandPalette],
  activate: (
    app: JupyterFrontEnd,
    explorations: IExplorations,
    tracker: INotebookTracker,
    forms: IFormServices,
    translator: ITranslator | null,
    restorer: ILayoutRestorer | null,
    settings: ISettingRegistry | null,
    palette: ICommandPalette | null
  ): void => {
    const trans = (translator ?? nullTranslator).load('exploracoder_jupyter');
    const host = new HostServices(app, tracker, explorations, forms);
    const widget = new SidebarWidget(explorations, host, trans);
    app.shell.add(widget, 'right', { rank: 700 });
    restorer?.add(widget, SIDEBAR_ID);
    const opener = new SidebarOpener(
      explorations,
      () => widget.preferences,
      () => app.shell.activateById(SIDEBAR_ID)
    );
    const look = () => widget.update();
    tracker.activeCellChanged.connect(look);
    widget.disposed.connect(() => {
      opener.dispose();
      tracker.activeCellChanged.disconnect(look);
    });
    addCommands(app, explorations, tracker, host, widget, trans);
    addSubtaskCommands(app, explorations, tracker, trans);
    const category = trans.__('Exploration');
    for (const command of Object.values({
      ...CommandIDs,
      ...SubtaskCommandIDs
    })) {
      palette?.addItem({ command, category });
    }
    void followSettings(settings, widget);
  }
};

function addCommands(
  app: JupyterFrontEnd,
  explorations: IExplorations,
  tracker: INotebookTracker,
  host: HostServices,
  widget: SidebarWidget,
  trans: TranslationBundle
): void {
  const { commands, shell } = app;
  const describedBy = { args: { type: 'object', properties: {} } };
  commands.addCommand(CommandIDs.showSidebar, {
    label: trans.__('Show Exploration Sidebar'),
    caption: trans.__('Show and control the explorations of this notebook'),
    icon: explorationIcon,
    describedBy,
    execute: () => {
      shell.activateById(SIDEBAR_ID);
      widget.focus();
    }
  });
  commands.addCommand(CommandIDs.insertExample, {
    label: trans.__('Insert Example Exploration'),
    caption: trans.__('Insert example cells that explore a library'),
    describedBy,
    isEnabled: () => host.hasNotebook,
    execute: () => host.insertExample(explorations.current?.link === 'ready')
  });
  const trace = () => findSubject(explorations, tracker)?.run.trace_link ?? '';
  commands.addCommand(CommandIDs.openTrace, {
    label: trans.__('Open Trace of Exploration'),
    caption: trans.__('Open the notebook that records the run'),
    describedBy,
    isEnabled: () => !!trace(),
    execute: () => host.open(trace())
  });
}

/** Apply the user's settings and their changes. Without a settings registry, the defaults apply. */
async function followSettings(
  registry: ISettingRegistry | null,
  widget: SidebarWidget
): Promise<void> {
  const settings = await registry?.load(sidebar.id).catch(() => undefined);
  const take = () => {
    widget.preferences = {
      ...DEFAULTS,
      ...(settings?.composite as Partial<IPreferences> | undefined)
    };
  };
  take();
  settings?.changed.connect(take);
  widget.disposed.connect(() => settings?.changed.disconnect(take));
}

export const plugins: JupyterFrontEndPlugin<unknown>[] = [sidebar];

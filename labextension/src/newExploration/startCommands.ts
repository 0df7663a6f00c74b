/** The commands that start explorations. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { INotebookTracker } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';

import { FOLLOW_UP, IExplorations } from '../link/explorationInterface';
import { SHOW_SIDEBAR } from '../sidebar/hostServices';
import { explorationIcon } from '../shared/icons';
import type { ITask } from './callingCellSource';
import type { IFormServices } from './formServicesToken';

export const NewExplorationCommandIDs = {
  new: 'exploracoder:new',
  settings: 'exploracoder:settings'
} as const;

const CREATE_NOTEBOOK = 'notebook:create-new';

const FIELDS = {
  libraries: 'Names of libraries, separated by commas',
  task: 'The task in words',
  check: 'Python that the solution must pass',
  model: 'The model; as configured if it is not given',
  effort: 'auto, direct or explore; as configured if it is not given'
} as const;

const TASK_ARGS = {
  type: 'object',
  properties: Object.fromEntries(
    Object.entries(FIELDS).map(([name, description]) => [
      name,
      { type: 'string', description }
    ])
  )
};

export function addNewExplorationCommands(
  app: JupyterFrontEnd,
  forms: IFormServices,
  tracker: INotebookTracker,
  explorations: IExplorations,
  trans: TranslationBundle
): void {
  const { commands } = app;
  commands.addCommand(FOLLOW_UP, {
    label: trans.__('Follow Up on Exploration…'),
    describedBy: {
      args: {
        type: 'object',
        properties: { run: { type: 'string', description: 'Key of the run' } }
      }
    },
    execute: async args => {
      const runs = explorations.current?.runs ?? [];
      const run = runs.find(({ key }) => key === args.run);
      if (run) {
        forms.followUp(run);
        await commands.execute(SHOW_SIDEBAR);
      }
    }
  });
  commands.addCommand(NewExplorationCommandIDs.new, {
    label: args =>
      args.isLauncher ? trans.__('Explore') : trans.__('New Exploration…'),
    caption: trans.__('Explore a library for a task, in this notebook'),
    icon: explorationIcon,
    describedBy: { args: TASK_ARGS },
    execute: async args => {
      if (args.isLauncher || !tracker.currentWidget) {
        await createNotebook(app, args.cwd);
      }
      forms.show('new', draftOf(args));
      await commands.execute(SHOW_SIDEBAR);
    }
  });
  commands.addCommand(NewExplorationCommandIDs.settings, {
    label: trans.__('Exploration Settings'),
    caption: trans.__('Choose the model, its key and the defaults'),
    describedBy: { args: { type: 'object', properties: {} } },
    isEnabled: () => tracker.currentWidget !== null,
    execute: () => {
      forms.show('settings');
      return commands.execute(SHOW_SIDEBAR);
    }
  });
}

/** The fields that are given; `undefined` if there is none, which keeps the present draft. */
function draftOf(args: Record<string, unknown>): Partial<ITask> | undefined {
  const given = Object.keys(FIELDS).flatMap(name =>
    typeof args[name] === 'string' ? [[name, args[name]]] : []
  );
  return given.length ? Object.fromEntries(given) : undefined;
}

/** Create a notebook with the default kernel, if the application can. */
async function createNotebook(
  { commands, serviceManager }: JupyterFrontEnd,
  cwd: unknown
): Promise<void> {
  if (commands.hasCommand(CREATE_NOTEBOOK)) {
    const kernelName = serviceManager.kernelspecs.specs?.default;
    const folder = typeof cwd === 'string' ? { cwd } : {};
    await commands.execute(CREATE_NOTEBOOK, { ...folder, kernelName });
  }
}

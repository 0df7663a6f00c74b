/** The commands for explorations, in the palette and in the context menu of generated cells. */
import type { JupyterFrontEnd } from '@jupyterlab/application';
import { ICommandPalette, Notification } from '@jupyterlab/apputils';
import type { Cell } from '@jupyterlab/cells';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { CommandRegistry } from '@lumino/commands';
import type {
  ReadonlyJSONObject,
  ReadonlyPartialJSONObject
} from '@lumino/coreutils';

import { isFinished } from '../link/runStatus';
import type { Done, RunView } from '../messages';
import type { ExplorationRegistry } from './explorationRegistry';
import {
  isGuarded,
  makeRunnable,
  markOf
} from '../generatedCells/generatedCell';
import type { NotebookExplorations } from './notebookExplorations';
import { showCell } from '../generatedCells/notebookActions';
import { asOneUndoStep } from '../generatedCells/cellRemoval';
import {
  confirmChoice,
  confirmRemoval,
  insertedMessage,
  removedMessage,
  notify
} from '../shared/sharedWording';

export const CommandIDs = {
  remove: 'exploracoder:remove',
  removeKeepSolution: 'exploracoder:remove-keep-solution',
  stop: 'exploracoder:stop',
  choose: 'exploracoder:choose-candidate',
  insertSolution: 'exploracoder:insert-solution',
  makeMine: 'exploracoder:make-mine'
} as const;

/** Executes a command on a run of the current notebook. */
type RunAction = (model: NotebookExplorations, run: RunView) => unknown;

const RUN_ARGS = {
  type: 'object',
  properties: {
    run: {
      type: 'string',
      description:
        'The run; defaults to the run of the active cell, or else the latest run'
    }
  }
};

const REMOVE_ARGS = {
  type: 'object',
  properties: {
    ...RUN_ARGS.properties,
    keepSolution: {
      type: 'boolean',
      description:
        'Whether to keep the solution; the user is asked if this is not given'
    }
  }
};

const NO_ARGS = { type: 'object', properties: {} };

export class Commands {
  constructor(
    private _app: JupyterFrontEnd,
    private _explorations: ExplorationRegistry,
    private _trans: TranslationBundle
  ) {
    this._addRemovals();
    this._addControls();
    this._addCellCommands();
  }

  addToPalette(palette: ICommandPalette): void {
    const category = this._trans.__('Exploration');
    Object.values(CommandIDs).forEach(command =>
      palette.addItem({ command, category })
    );
  }

  /** Each command is shown only where it is enabled. */
  addToContextMenu(): void {
    Object.values(CommandIDs).forEach((command, index) =>
      this._app.contextMenu.addItem({
        command,
        selector: '.jp-Explora-cell',
        rank: 20 + index
      })
    );
  }

  private _addRemovals(): void {
    const trans = this._trans;
    this._addCommand(CommandIDs.remove, REMOVE_ARGS, {
      label: trans.__('Remove Exploration'),
      caption: trans.__(
        'Remove the cells of an exploration; undo brings them back'
      ),
      isEnabled: () => this._hasCells(),
      execute: args => this._confirmAndRemove(args)
    });
    this._addCommand(CommandIDs.removeKeepSolution, RUN_ARGS, {
      label: trans.__('Remove Exploration, Keep the Solution'),
      caption: trans.__(
        'Remove the cells of an exploration; the solution becomes an ordinary cell'
      ),
      isEnabled: () => this._hasCells(),
      execute: args => this._remove(args, true)
    });
  }

  private _addControls(): void {
    const trans = this._trans;
    this._addRunCommand(CommandIDs.stop, {
      label: trans.__('Stop Exploration'),
      caption: trans.__('Stop the exploration and keep the results so far'),
      can: (_, run) => !isFinished(run) && run.status !== 'stopping',
      act: (model, run) => reportProblem(model.stop(run.key))
    });
    this._addRunCommand(CommandIDs.insertSolution, {
      label: trans.__('Insert Solution of Exploration'),
      caption: trans.__('Insert the solution below the active cell'),
      can: (_, run) => run.code !== null,
      act: (model, run) => this._insertSolution(model, run)
    });
    this._addRunCommand(CommandIDs.choose, {
      label: trans.__('Use This Candidate Instead'),
      caption: trans.__(
        'Carry this candidate forward; the later subtasks are explored again'
      ),
      can: (_, run) => this._selectableCandidate(run) !== undefined,
      act: (model, run) =>
        chooseWithConfirmation(
          model,
          run,
          this._selectableCandidate(run) ?? '',
          trans
        )
    });
  }

  private _addCellCommands(): void {
    const guarded = () => {
      const cell = this._activeCell();
      return cell && isGuarded(cell.model.sharedModel) ? cell : undefined;
    };
    this._addCommand(CommandIDs.makeMine, NO_ARGS, {
      label: this._trans.__('Make the Candidate Mine'),
      caption: this._trans.__('Make it an ordinary cell that you can run'),
      isEnabled: () => guarded() !== undefined,
      execute: () => {
        const model = guarded()?.model.sharedModel;
        if (model?.notebook) {
          asOneUndoStep(model.notebook, () => makeRunnable(model));
        }
      }
    });
  }

  /** Add a command that is hidden from the context menu where it is disabled. */
  private _addCommand(
    id: string,
    args: ReadonlyJSONObject,
    options: CommandRegistry.ICommandOptions
  ): void {
    this._app.commands.addCommand(id, {
      ...options,
      isVisible: options.isEnabled,
      describedBy: { args }
    });
  }

  private _addRunCommand(
    id: string,
    options: {
      label: string;
      caption: string;
      can: (model: NotebookExplorations, run: RunView) => boolean;
      act: RunAction;
    }
  ): void {
    const { label, caption, can, act } = options;
    this._addCommand(id, RUN_ARGS, {
      label,
      caption,
      isEnabled: args => {
        const [model, run] = this._findRun(args);
        return !!model && !!run && can(model, run);
      },
      execute: args => {
        const [model, run] = this._findRun(args);
        return model && run ? act(model, run) : undefined;
      }
    });
  }

  private _findRun(
    args: ReadonlyPartialJSONObject
  ): [NotebookExplorations?, RunView?] {
    const model = this._explorations.current;
    if (!model) {
      return [];
    }
    const runs = model.runs;
    const named = (name: unknown) =>
      runs.find(run => run.key === name || run.run_id === name);
    const latest = runs[runs.length - 1];
    const run =
      args.run === undefined
        ? (named(this._activeMark()?.run_id) ?? latest)
        : named(args.run);
    return [model, run];
  }

  /** The candidate of the active cell, if the run can continue from it. */
  private _selectableCandidate(run: RunView): string | undefined {
    const id = this._activeMark()?.candidate;
    const subtask = run.subtasks.find(other =>
      other.candidates.some(
        candidate => candidate.id === id && candidate.selectable
      )
    );
    return subtask && subtask.selected !== id ? id : undefined;
  }

  /** Remove a run. If it has a solution and the arguments do not say whether to keep it, ask the user. */
  private async _confirmAndRemove(
    args: ReadonlyPartialJSONObject
  ): Promise<void> {
    const requested = args.keepSolution;
    const keeps =
      typeof requested === 'boolean'
        ? requested
        : this._hasSolution(this._runToRemove(args))
          ? await confirmRemoval(this._trans)
          : false;
    if (keeps !== null) {
      this._remove(args, keeps);
    }
  }

  private _hasSolution(run?: string): boolean {
    const cells = this._explorations.current?.panel.content.widgets ?? [];
    const [, view] = run === undefined ? [] : this._findRun({ run });
    const runId = view?.run_id ?? run;
    return cells.some(cell => markOf(cell.model, runId)?.role === 'solution');
  }

  private _insertSolution(model: NotebookExplorations, run: RunView): void {
    const how = model.insertSolution(run.key);
    if (how !== 'nothing') {
      notify(insertedMessage(how, run.status === 'stopped', this._trans));
    }
  }

  private _runToRemove(args: ReadonlyPartialJSONObject): string | undefined {
    const asked = typeof args.run === 'string' ? args.run : undefined;
    return asked ?? this._activeMark()?.run_id ?? this._latestRunId();
  }

  private _remove(
    args: ReadonlyPartialJSONObject,
    keepSolution: boolean
  ): void {
    const run = this._runToRemove(args);
    const model = this._explorations.current;
    if (!model || run === undefined) {
      return;
    }
    const wasRunning = model.runs.some(
      view => [view.key, view.run_id].includes(run) && !isFinished(view)
    );
    const caller = this._callerOf(run);
    const count = model.remove(run, { keepSolution });
    if (count) {
      this._restoreFocus(model, caller);
      notify(removedMessage(count, wasRunning, this._trans));
    }
  }

  /** Focus the calling cell, since the focused element may be removed, so that shortcuts apply to the notebook. */
  private _restoreFocus(
    { panel }: NotebookExplorations,
    caller?: string
  ): void {
    const active = panel.content.activeCell?.model.id;
    [caller, active].some(id => id && showCell(panel, id, true));
  }

  /** Id of the run's calling cell. */
  private _callerOf(run: string): string | undefined {
    const cells = this._explorations.current?.panel.content.widgets ?? [];
    const [, view] = this._findRun({ run });
    const runId = view?.run_id ?? run;
    return cells
      .map(cell => markOf(cell.model, runId)?.caller)
      .find(caller => caller !== undefined);
  }

  /** The id of the latest run that has cells in the notebook. */
  private _latestRunId(): string | undefined {
    const there = this._runIds();
    const known = this._explorations.current?.runs ?? [];
    const latest = known
      .map(run => run.run_id)
      .filter(id => there.includes(id));
    return [...there, ...latest].pop();
  }

  private _hasCells(): boolean {
    return this._runIds().length > 0;
  }

  /** The run ids of the notebook's generated cells, in cell order. */
  private _runIds(): string[] {
    const cells = this._explorations.current?.panel.content.widgets ?? [];
    return cells.flatMap(cell => markOf(cell.model)?.run_id ?? []);
  }

  private _activeCell(): Cell | null {
    return this._explorations.current?.panel.content.activeCell ?? null;
  }

  private _activeMark() {
    const cell = this._activeCell();
    return cell && markOf(cell.model);
  }
}

/** Carry another candidate forward. If the run has ended, ask the user first, since its cells are replaced. */
export async function chooseWithConfirmation(
  model: NotebookExplorations,
  run: RunView,
  candidate: string,
  trans: TranslationBundle
): Promise<void> {
  if (!isFinished(run) || (await confirmChoice(candidate, trans))) {
    await reportProblem(model.choose(run.key, candidate));
  }
}

/** Notify the user if a control that was sent from outside of the sidebar failed. */
export async function reportProblem(asked: Promise<Done>): Promise<void> {
  const { problem } = await asked;
  if (problem) {
    Notification.warning(problem, { autoClose: 6_000 });
  }
}

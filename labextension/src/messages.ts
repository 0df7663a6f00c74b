// Made by `jlpm types` from messages.schema.json, which scripts/page_types.py writes from exploracoder_jupyter/protocol/browser_messages.py. Do not edit.

import type {JSONValue} from '@lumino/coreutils';

export const EVENTS = 'exploracoder_jupyter:events:v1';

export const CONTROL = 'exploracoder_jupyter:control:v1';

export const VERSION = 1;

/**
 * Anything that kernel and page tell one another.
 */
export type Message = Opening | FromKernel | Answer | ToKernel | Continue;
export type FromKernel = CellsMessage | StateMessage | WhoMessage | CleanMessage;
export type JsonValue = JSONValue;
export type Answer = Welcome | Snapshot | Replaced | Done | LibraryNames | SettingsView | FoundModels | TriedModel;
export type ToKernel =
  | Hello
  | Here
  | Sync
  | Dismiss
  | StopRun
  | ExploreNow
  | SkipSubtask
  | RetrySubtask
  | ChooseCandidate
  | RunEditedCandidate
  | EditPlan
  | ExportTrace
  | ChangeRepository
  | FindReplaced
  | ListLibraries
  | ReadSettings
  | SaveSettings
  | FindModels
  | TryModel;

/**
 * The data of the `comm_open`: the kernel's version and all its runs.
 */
export interface Opening {
  version: number;
  package: string;
  reason: 'call' | 'hello';
  runs: RunView[];
}
/**
 * A run as shown in the sidebar. Sent complete, at most five times per second, and at the end.
 */
export interface RunView {
  key: string;
  run_id: string;
  cell: string | null;
  owner: string;
  status:
    'starting' | 'reviewing' | 'running' | 'stopping' | 'solved' | 'unchecked' | 'unsolved' | 'stopped' | 'failed';
  task: string;
  setup: string;
  origin: string;
  libraries: string[];
  model: string;
  isolation: string;
  activity: string;
  started: number | null;
  ended: number | null;
  waited: number;
  waiting_since: number | null;
  now: number | null;
  estimate: string;
  calls: number;
  tokens: number;
  executions: number;
  cost: string;
  budget_tokens: number | null;
  budget_seconds: number | null;
  subtasks: SubtaskView[];
  may_explore_now: boolean;
  solution: SubtaskView | null;
  code: string | null;
  patch: '' | 'ready' | 'applied';
  notices: string[];
  card: {
    [k: string]: string;
  };
  trace: string;
  trace_link: string;
}
/**
 * One subtask, or the solution (id `solution`).
 */
export interface SubtaskView {
  id: string;
  title: string;
  status: 'planned' | 'exploring' | 'done' | 'failed' | 'skipped';
  reason: string;
  hint: string;
  apis: ApiView[];
  candidates: CandidateView[];
  selected: string | null;
  why: string[];
}
/**
 * A recommended or used API, as shown in the sidebar.
 */
export interface ApiView {
  path: string;
  kind: string;
  signature: string;
  doc: string;
  recommended: boolean;
  used: boolean;
}
/**
 * One candidate, or a repair of one.
 */
export interface CandidateView {
  id: string;
  round: number;
  repairs: string | null;
  status: string;
  seconds: number | null;
  line: string;
  selectable: boolean;
  apis: string[];
  edits: string | null;
  agrees_with: string;
}
/**
 * Changes to a run's cells. `seq` counts these messages per run, from 1; after a gap, the page sends `Sync`.
 */
export interface CellsMessage {
  type: 'cells';
  run: string;
  seq: number;
  changes: CellChange[];
}
/**
 * One change to the notebook's cells, which are identified by id. Apply in order; applying twice is harmless.
 */
export interface CellChange {
  action: 'insert' | 'replace' | 'remove';
  id: string;
  after: string | null;
  cell: {
    [k: string]: JsonValue;
  } | null;
}
/**
 * The current state of a run.
 */
export interface StateMessage {
  type: 'state';
  state: RunView;
}
/**
 * Asks whether the page that owns this run still exists. It answers with `Here` within three seconds.
 */
export interface WhoMessage {
  type: 'who';
  run: string;
}
/**
 * `%explora clean`: remove the explorations from the calling notebook. Not answered.
 */
export interface CleanMessage {
  type: 'clean';
  session: string;
  keep_solution: boolean;
}
/**
 * Answer to `Hello`: all runs and traces. The kernel opens a new events comm just before it.
 */
export interface Welcome {
  type: 'welcome';
  request: number;
  version: number;
  runs: RunView[];
  traces: TraceView[];
}
/**
 * A past exploration: a run in the user's history, or a trace next to this notebook.
 */
export interface TraceView {
  link: string;
  path: string;
  gone: boolean;
  changed: number;
  started: number | null;
  task: string;
  outcome: string;
  libraries: string;
  cost: string;
  resume: string;
}
/**
 * Answer to `Sync`: all cells of a run in order, without those that the user deleted.
 */
export interface Snapshot {
  type: 'snapshot';
  request: number;
  run: string;
  seq: number;
  cells: {
    [k: string]: JsonValue;
  }[];
  removed: string[];
  state: RunView;
}
/**
 * Answer to `FindReplaced`: the given variables first.
 *
 * Left out are variables that the task asks to set, and those whose value an earlier run of the same cell has made.
 */
export interface Replaced {
  type: 'replaced';
  request: number;
  variables: ReplacedVariable[];
}
/**
 * A variable of the user that a solution would replace.
 */
export interface ReplacedVariable {
  name: string;
  kind: string;
  given: boolean;
}
/**
 * Answer to every other control: it was accepted, or why not.
 */
export interface Done {
  type: 'done';
  request: number;
  problem: string;
  said: string;
  link: string;
}
/**
 * Answer to `ListLibraries`: names that can be explored in this kernel, each list sorted.
 */
export interface LibraryNames {
  type: 'library_names';
  request: number;
  imported: string[];
  installed: string[];
}
/**
 * The settings as they are in the config file now. Never contains the key.
 */
export interface SettingsView {
  type: 'settings';
  request: number;
  path: string;
  settings: SettingView[];
  key: 'none' | 'file' | 'environment';
  key_variable: string;
  problem: string;
  problems: {
    [k: string]: string;
  };
}
/**
 * One setting that the page can change.
 */
export interface SettingView {
  name: string;
  kind: 'text' | 'whole' | 'number' | 'choice';
  choices: string[];
  meaning: string;
  value: string;
  default: string;
  overridden: string;
}
/**
 * Answer to `FindModels`.
 */
export interface FoundModels {
  type: 'found_models';
  request: number;
  endpoints: EndpointView[];
  problem: string;
}
/**
 * An endpoint, and what it answered.
 */
export interface EndpointView {
  base_url: string;
  url: string;
  local: boolean;
  models: string[];
  status: string;
}
/**
 * Answer to `TryModel`.
 */
export interface TriedModel {
  type: 'tried_model';
  request: number;
  seconds: number;
  problem: string;
}
/**
 * First message of a page, and its answer to an `Opening` with reason `call`. Answered by `Welcome`.
 */
export interface Hello {
  type: 'hello';
  request?: number;
  version?: number;
  page: string;
  session: string;
  notebook?: string;
}
/**
 * The owner's answer to `WhoMessage`. Not answered.
 */
export interface Here {
  type: 'here';
  request?: number;
  page: string;
  run: string;
}
/**
 * A page with the calling cell requests all cells of a run. Answered by `Snapshot`.
 *
 * A page that does not own the run becomes its owner if the owner does not answer `WhoMessage` within three seconds.
 */
export interface Sync {
  type: 'sync';
  request?: number;
  page: string;
  run: string;
}
/**
 * The user has deleted these cells of the run (empty: all of them), so they must not be inserted again.
 */
export interface Dismiss {
  type: 'dismiss';
  request?: number;
  run: string;
  cells?: string[];
}
/**
 * Finish now and keep the results so far.
 */
export interface StopRun {
  type: 'stop';
  request?: number;
  run: string;
}
/**
 * Plan and explore now, instead of trying whole programs first.
 */
export interface ExploreNow {
  type: 'explore';
  request?: number;
  run: string;
}
/**
 * Abandon this subtask and continue with the next one.
 */
export interface SkipSubtask {
  type: 'skip';
  request?: number;
  run: string;
  subtask: string;
}
/**
 * Explore this subtask again, from the state before it, with a hint for the model. Later subtasks are repeated.
 */
export interface RetrySubtask {
  type: 'retry';
  request?: number;
  run: string;
  subtask: string;
  hint?: string;
}
/**
 * Carry this candidate forward instead of the selected one. Later subtasks are repeated.
 */
export interface ChooseCandidate {
  type: 'choose';
  request?: number;
  run: string;
  candidate: string;
}
/**
 * Run a candidate's code as the user edited it, from the state before its subtask, as a candidate of its own.
 */
export interface RunEditedCandidate {
  type: 'edit';
  request?: number;
  run: string;
  candidate: string;
  code: string;
}
/**
 * Replace the subtasks that have not started with these titles, in this order. While the plan is under review,
 * this also approves it.
 */
export interface EditPlan {
  type: 'plan';
  request?: number;
  run: string;
  titles: string[];
}
/**
 * Export the trace without unselected candidates. Answered by `Done` with the path in `link` or `said`.
 */
export interface ExportTrace {
  type: 'export';
  request?: number;
  run: string;
}
/**
 * Write the run's patch into its repository, or undo that. Answered by `Done` with a sentence in `said`.
 */
export interface ChangeRepository {
  type: 'change';
  request?: number;
  run: string;
  action: 'apply' | 'undo';
}
/**
 * A cell with a solution is about to run: which variables of the user would it replace? Answered by `Replaced`.
 */
export interface FindReplaced {
  type: 'find_replaced';
  request?: number;
  run?: string;
  cell: string;
  code: string;
  given?: string[];
}
/**
 * The page completes the name of a library. Answered by `LibraryNames`.
 */
export interface ListLibraries {
  type: 'list_libraries';
  request?: number;
}
/**
 * The page shows the settings. Answered by `SettingsView`.
 */
export interface ReadSettings {
  type: 'read_settings';
  request?: number;
}
/**
 * Write these settings to the config file; nothing is written if one is invalid. Answered by `SettingsView`.
 */
export interface SaveSettings {
  type: 'save_settings';
  request?: number;
  values?: {
    [k: string]: string;
  };
  key?: string | null;
}
/**
 * The page lists the models that can be used. Answered by `FoundModels`, within a minute.
 */
export interface FindModels {
  type: 'find_models';
  request?: number;
  base_url?: string;
  key?: string | null;
}
/**
 * The page tests an endpoint with a tiny request; nothing is saved. Answered by `TriedModel`, within minutes.
 */
export interface TryModel {
  type: 'try_model';
  request?: number;
  base_url?: string;
  model: string;
  key?: string | null;
}
/**
 * `metadata.exploracoder_jupyter.continue` of a `%%explora` cell: continue a run that has ended.
 *
 * The selected candidates run again from the kernel's current state; then the requested action follows: retry a
 * subtask, with or without a hint, or carry another candidate forward, possibly with edited code.
 */
export interface Continue {
  run: string;
  subtask?: string;
  hint?: string;
  candidate?: string;
  code?: string;
}

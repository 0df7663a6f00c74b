/**
 * The explorations of one notebook document: combines the kernel's messages, the notebook's cells and the user's
 * controls.
 */
import type {
  ISharedCell,
  ISharedNotebook,
  NotebookChange
} from '@jupyter/ydoc';
import { Notebook, NotebookActions, NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import { ISignal, Signal } from '@lumino/signaling';

import { KernelLink, NoAnswerError } from '../link/kernelLink';
import { isKnownKernel, rememberKernel } from '../link/knownKernels';
import { isFinished } from '../link/runStatus';
import type {
  Control,
  IRunCell,
  INotebookExplorations,
  InsertResult,
  LinkStatus
} from '../link/explorationInterface';
import type {
  Answer,
  CellsMessage,
  CleanMessage,
  Continue,
  Done,
  FromKernel,
  RunView,
  ToKernel,
  TraceView,
  Welcome
} from '../messages';
import { mentionsExtension } from '../generatedCells/callingCells';
import { RunControls } from './runControls';
import { KnownRuns } from './knownRuns';
import {
  markInterruptedCards,
  writeFinalStatus
} from '../generatedCells/cardStatus';
import {
  rerunCallingCell,
  findRunCell,
  insertBelow,
  showCard,
  showCell
} from '../generatedCells/notebookActions';
import { IMark, markOf } from '../generatedCells/generatedCell';
import { IDeletedCells, NotebookCells } from '../generatedCells/notebookCells';
import { withHeadings } from '../generatedCells/collapsedHeadings';

export class NotebookExplorations implements INotebookExplorations {
  /**
   * @param panel - a view of the document
   * @param page - id of this page
   * @param trans - translations of messages to the user
   * @param elsewhere - whether another open notebook has a cell
   */
  constructor(
    panel: NotebookPanel,
    page: Promise<string>,
    private _trans: TranslationBundle,
    private _isInOtherNotebook: (cell: string) => boolean = () => false
  ) {
    this.panel = panel;
    this._pageIdPromise = page;
    void page.then(id => {
      this._pageId = id;
      this._changed.emit();
    });
    this._cells = new NotebookCells(
      panel.context.model.sharedModel,
      undefined,
      act => withHeadings(this.panel.content, act)
    );
    this._cells.deleted.connect(this._onDeleted, this);
    this._cells.firstCellInserted.connect(this._onFirstCell, this);
    this._cells.undone.connect(this._onUndone, this);
    this._cells.reloaded.connect(() => this._syncAll());
    panel.context.model.sharedModel.changed.connect(this._onNotebook, this);
    const controlled = {
      link: () => this._link,
      view: (run: string) => this._runs.get(run),
      isLost: (run: string) => this._runs.isLost(run),
      continueFrom: (given: Continue) =>
        rerunCallingCell(this.panel, this._runs.get(given.run)?.cell, given),
      onPending: () => this._changed.emit()
    };
    this._controls = new RunControls(controlled, _trans);
    const session = panel.context.sessionContext;
    session.kernelChanged.connect(this._onKernel, this);
    session.statusChanged.connect(this._onStatus, this);
    panel.context.pathChanged.connect(this._onPath, this);
    NotebookActions.executed.connect(this._onExecuted, this);
    void panel.context.ready.then(() => this._onKernel());
  }

  /** The view in which cells are revealed: the one that was current last. */
  panel: NotebookPanel;

  get runs(): readonly RunView[] {
    return this._runs.all.filter(
      run =>
        this._isHere(run) ||
        (run.cell !== null && !this._isInOtherNotebook(run.cell))
    );
  }

  get traces(): readonly TraceView[] {
    return this._traces;
  }

  get changed(): ISignal<this, void> {
    return this._changed;
  }

  get notebook(): string {
    return this._link?.notebook ?? this.panel.context.path;
  }

  get subshells(): boolean {
    return this._link?.hasSubshell ?? false;
  }

  get busy(): boolean {
    return this._session.session?.kernel?.status === 'busy';
  }

  get link(): LinkStatus {
    const state = this._link?.state ?? 'none';
    const asked = state === 'connecting' || state === 'ready';
    return asked && this.busy && this._link?.isBlockedByCell
      ? 'waiting'
      : state;
  }

  get isDisposed(): boolean {
    return this._isDisposed;
  }

  isHere(run: string): boolean {
    const view = this._runs.get(run);
    return view !== undefined && this._isHere(view);
  }

  hasCaller(run: string): boolean {
    const cell = this._runs.get(run)?.cell;
    return !!cell && this._cells.has(cell);
  }

  hasCells(run: string): boolean {
    const view = this._runs.get(run);
    return !!view?.run_id && this._runIds().has(view.run_id);
  }

  hasSolution(run: string): boolean {
    const view = this._runs.get(run);
    const { notebook } = this._cells;
    return (
      view !== undefined &&
      (!!findRunCell(notebook, view, { solution: true }) ||
        (!!view.code && findCode(notebook, view.code) !== undefined))
    );
  }

  /** Whether a cell with this id is in the notebook. */
  hasCell(id: string): boolean {
    return this._cells.has(id);
  }

  isOwned(run: string): boolean {
    const owner = this._runs.get(run)?.owner;
    return !!owner && owner === this._pageId;
  }

  isPending(run: string, control: Control, of = ''): boolean {
    return this._controls.isPending(run, control, of);
  }

  stop(run: string): Promise<Done> {
    return this._controls.send(run, 'stop', '', { type: 'stop' });
  }

  explore(run: string): Promise<Done> {
    return this._controls.send(run, 'explore', '', { type: 'explore' });
  }

  skip(run: string, subtask: string): Promise<Done> {
    return this._controls.send(run, 'skip', subtask, { type: 'skip', subtask });
  }

  retry(run: string, subtask: string, hint = ''): Promise<Done> {
    return this._controls.retry(run, subtask, hint);
  }

  choose(run: string, candidate: string): Promise<Done> {
    return this._controls.choose(run, candidate);
  }

  edit(run: string, candidate: string, code: string): Promise<Done> {
    return this._controls.edit(run, candidate, code);
  }

  plan(run: string, titles: string[]): Promise<Done> {
    return this._controls.send(run, 'plan', '', { type: 'plan', titles });
  }

  exportTrace(run: string): Promise<Done> {
    return this._controls.send(run, 'export', '', { type: 'export' });
  }

  changeRepository(run: string, action: 'apply' | 'undo'): Promise<Done> {
    return this._controls.send(run, 'change', '', { type: 'change', action });
  }

  async request(message: ToKernel, timeout?: number): Promise<Answer> {
    if (!this._link) {
      throw new NoAnswerError('none');
    }
    return this._link.request(message, timeout);
  }

  reveal(run: string, wanted: IRunCell, focus = true): boolean {
    const id = findRunCell(this._cells.notebook, this._runs.get(run), wanted);
    return !!id && showCell(this.panel, id, focus);
  }

  remove(
    run: string | 'all',
    { keepSolution = false }: { keepSolution?: boolean } = {}
  ): number {
    for (const view of this._matchingRuns(run)) {
      if (!isFinished(view)) {
        void this.stop(view.key);
      }
    }
    return this._remove(run, keepSolution);
  }

  insertSolution(run: string): InsertResult {
    const view = this._runs.get(run);
    if (!view?.code) {
      return 'nothing';
    }
    const { notebook } = this._cells;
    const there = findCode(notebook, view.code);
    if (there && showCell(this.panel, there.getId(), true)) {
      return 'there';
    }
    const ofRun = (cell: ISharedCell) =>
      cell.getId() === view.cell || markOf(cell, view.run_id) !== null;
    return insertBelow(this.panel, view.code, ofRun) ? 'inserted' : 'nothing';
  }

  dispose(): void {
    if (this._isDisposed) {
      return;
    }
    this._isDisposed = true;
    this._cells.notebook.changed.disconnect(this._onNotebook, this);
    this._session.kernelChanged.disconnect(this._onKernel, this);
    this._session.statusChanged.disconnect(this._onStatus, this);
    this.panel.context.pathChanged.disconnect(this._onPath, this);
    NotebookActions.executed.disconnect(this._onExecuted, this);
    this._link?.dispose();
    this._cells.dispose();
    Signal.clearData(this);
  }

  private get _session() {
    return this.panel.context.sessionContext;
  }

  /** Whether the run's calling cell is or was in this notebook. */
  private _isHere(run: RunView): run is RunView & { cell: string } {
    if (run.cell === null) {
      return false;
    }
    if (
      this._cellsSeenHere.get(run.key) !== run.cell &&
      this._cells.has(run.cell)
    ) {
      this._cellsSeenHere.set(run.key, run.cell);
    }
    return this._cellsSeenHere.get(run.key) === run.cell;
  }

  // ---- the kernel

  private _onKernel(): void {
    const kernel = this._session.session?.kernel ?? null;
    if (this._isDisposed || kernel === (this._link?.kernel ?? null)) {
      return;
    }
    if (this._link) {
      this._link.dispose();
      this._link = null;
      this._onKernelLost();
    }
    if (kernel) {
      const path = () => this.panel.context.localPath;
      const link = new KernelLink(kernel, this._pageIdPromise, undefined, path);
      this._link = link;
      link.changed.connect(this._onLink, this);
      link.opened.connect((_, { runs }) => this._updateRuns(runs));
      link.received.connect(this._onReceived, this);
      link.welcomed.connect(this._onWelcome, this);
      this._connectIfKnown();
    }
    this._changed.emit();
  }

  /** Connect if the kernel is likely to have the extension. Other kernels log each attempt. */
  private _connectIfKnown(): void {
    if (this._link?.state !== 'none') {
      return;
    }
    if (
      isKnownKernel(this._link.kernel.id) ||
      mentionsExtension(this._cells.notebook)
    ) {
      void this._link.connect();
    }
  }

  /**
   * Send the new path of a renamed notebook: links to traces are relative to its folder. A link that is connecting
   * sends it by itself.
   */
  private _onPath(): void {
    if (this._link?.state === 'ready') {
      void this._link.connect();
    }
  }

  /** Emit `changed` if the runs with cells or solutions here, or the calling cells, may have changed. */
  private _onNotebook(_: unknown, change: NotebookChange): void {
    if (!change.cellsChange) {
      return;
    }
    const now = [...this._runIds(), ...this._solutionIds()].sort().join();
    const deleted = change.cellsChange.some(part => part.delete);
    if (deleted || now !== this._idsInNotebook) {
      this._idsInNotebook = now;
      this._changed.emit();
    }
  }

  /** The run ids of the notebook's generated cells. */
  private _runIds(): Set<string> {
    const { cells } = this._cells.notebook;
    return new Set(cells.flatMap(cell => markOf(cell)?.run_id ?? []));
  }

  /** The ids of the cells with solutions. */
  private _solutionIds(): string[] {
    const { cells } = this._cells.notebook;
    return cells
      .filter(cell => markOf(cell)?.role === 'solution')
      .map(cell => cell.getId());
  }

  private _onExecuted(_: unknown, { notebook }: { notebook: Notebook }): void {
    if (notebook.model === this.panel.content.model) {
      this._connectIfKnown();
    }
  }

  private _onLink(link: KernelLink): void {
    if (link.state === 'none') {
      this._markInterrupted();
    } else if (link.state === 'ready') {
      rememberKernel(link.kernel.id);
    }
    this._changed.emit();
  }

  private _onStatus(_: unknown, status: string): void {
    // A restart that another page requested shows only as the new process starting.
    const elsewhere = status === 'starting' && this._link?.state === 'ready';
    if (elsewhere || /restarting|dead|terminating/.test(status)) {
      this._onKernelLost();
      this._link?.restart();
    }
    this._changed.emit();
  }

  /** Handle a kernel that was replaced or restarted: it does not know the runs any more. */
  private _onKernelLost(): void {
    this._runs.markLost(this._lostKernelNotice());
    this._writeFinalStatuses(this._runs.all);
    this._cells.clear();
    this._markInterrupted();
  }

  /** Mark cells and cards that show a run as active although it is not. */
  private _markInterrupted(): void {
    this._cells.markInterrupted(this._activeRunIds());
    const active = this._runs.all.filter(run => !isFinished(run));
    markInterruptedCards(
      this._cells.notebook,
      new Set(active.flatMap(({ cell }) => cell ?? [])),
      this._lostKernelNotice()
    );
  }

  private _lostKernelNotice(): string {
    return this._trans.__('The kernel stopped before the run finished.');
  }

  /** The ids of the runs that are active or belong to another page. */
  private _activeRunIds(): Set<string> {
    const others = (run: RunView) => !!run.owner && !this.isOwned(run.key);
    const runs = this._runs.all.filter(run => !isFinished(run) || others(run));
    return new Set(runs.map(run => run.run_id));
  }

  private _onReceived(_: KernelLink, message: FromKernel): void {
    switch (message.type) {
      case 'state':
        this._updateRuns([message.state]);
        break;
      case 'who':
        this._answerWho(message.run);
        break;
      case 'cells':
        this._onCells(message);
        break;
      case 'clean':
        this._onClean(message);
        break;
    }
  }

  /** Each notebook of this page receives `who` over its own connection. */
  private _answerWho(run: string): void {
    const view = this._runs.get(run);
    if (view && this.isOwned(run) && this._isHere(view)) {
      this._link?.post({ type: 'here', page: this._pageId, run });
    }
  }

  private _onCells(message: CellsMessage): void {
    const { run } = message;
    const view = this._runs.get(run);
    if (view && this.isOwned(run) && this._isHere(view)) {
      this._syncIfGap(run, this._cells.receive(message, view.cell));
    }
  }

  /** `%explora clean` */
  private _onClean(message: CleanMessage): void {
    if (message.session === this._session.session?.kernel?.clientId) {
      this._remove('all', message.keep_solution);
    }
  }

  private _onWelcome(_: KernelLink, { runs, traces }: Welcome): void {
    runs.forEach(run => this._runs.put(run));
    this._traces = traces;
    this._writeFinalStatuses(runs);
    this._markInterrupted();
    this._syncAll(run => !this._cells.isComplete(run));
    this._changed.emit();
  }

  private _updateRuns(runs: readonly RunView[]): void {
    const others = runs.filter(({ key }) => !this.isOwned(key));
    const active = this._runs.all.filter(run => !isFinished(run));
    runs.forEach(run => this._runs.put(run));
    // The kernel writes the end of a run that was undone into the card of the one before.
    const again = runs.flatMap(({ cell }) =>
      this._runs.all.filter(run => run.cell === cell)
    );
    this._writeFinalStatuses([...runs, ...again]);
    active.forEach(({ key }) => void this._showEnd(key));
    for (const run of others) {
      if (this.isOwned(run.key) && this._isHere(run)) {
        void this._sync(run.key);
      }
    }
    this._changed.emit();
  }

  // ---- the cells

  /** If the run has just ended here, show its card once its cells are collapsed. */
  private async _showEnd(key: string): Promise<void> {
    const run = this._runs.get(key);
    if (run && isFinished(run) && this.isOwned(key) && this._isHere(run)) {
      await this._cells.whenApplied();
      if (!this._isDisposed) {
        showCard(this.panel, run.cell);
      }
    }
  }

  /** Synchronize the cells of the newest run of each calling cell. */
  private _syncAll(which: (run: string) => boolean = () => true): void {
    const here = this._runs.all.filter(run => this._isHere(run));
    const runs = here.map(({ key }) => key).filter(which);
    runs.forEach(run => void this._sync(run));
  }

  private _syncIfGap(run: string, gap: boolean): void {
    if (gap) {
      void this._sync(run);
    }
  }

  private async _sync(run: string): Promise<void> {
    const wanted = this._runs.isNewest(run) && !this._runs.isLost(run);
    if (!wanted || this._syncing.has(run)) {
      return;
    }
    this._syncing.add(run);
    let gap = false;
    try {
      const page = await this._pageIdPromise;
      const answer = await this._link?.request({ type: 'sync', page, run });
      if (answer?.type === 'snapshot' && !this._isDisposed) {
        this._runs.put(answer.state);
        this._writeFinalStatuses([answer.state]);
        const mine = this.isOwned(run) && this._isHere(answer.state);
        gap = mine && this._cells.restore(answer, answer.state.cell!);
        this._changed.emit();
      }
    } catch (error) {
      if (!(error instanceof NoAnswerError)) {
        throw error;
      }
    } finally {
      this._syncing.delete(run);
    }
    this._syncIfGap(run, gap);
  }

  private _onFirstCell(_: NotebookCells, run: string): void {
    this._runs.earlier(run).forEach(earlier => this._dismiss(earlier));
  }

  private _matchingRuns(run: string | 'all'): RunView[] {
    return this._runs.all.filter(
      view =>
        this._isHere(view) &&
        (run === 'all' || view.key === run || view.run_id === run)
    );
  }

  private _remove(run: string | 'all', keepSolution: boolean): number {
    this._matchingRuns(run).forEach(view => this._dismiss(view));
    // A run that this kernel does not know has no key and is identified by the run id in its cells.
    const runId = this._runs.get(run)?.run_id || run;
    const which = (mark: IMark) => run === 'all' || mark.run_id === runId;
    return this._cells.remove(which, keepSolution);
  }

  /** Write final statuses of ended runs. The status line below a calling cell belongs to its newest run. */
  private _writeFinalStatuses(runs: readonly RunView[]): void {
    runs
      .flatMap(({ key }) => this._runs.get(key) ?? [])
      .filter(run => isFinished(run) && this.isOwned(run.key))
      .filter(run => this._runs.isNewest(run.key))
      .forEach(run => writeFinalStatus(this._cells.notebook, run));
  }

  /** The run that this one replaced is the cell's present one again. */
  private _onUndone(_: NotebookCells, key: string): void {
    const run = this._runs.get(key);
    if (!run) {
      return;
    }
    if (!isFinished(run)) {
      void this.stop(key);
    }
    const earlier = this._runs.earlier(key).pop();
    this._dismiss(run);
    this._runs.markUndone(key);
    this._writeFinalStatuses(earlier ? [earlier] : []);
    this._changed.emit();
  }

  private _onDeleted(_: NotebookCells, { run, cells }: IDeletedCells): void {
    this._sendRequest({ type: 'dismiss', run, cells });
  }

  private _dismiss({ key, cell }: RunView): void {
    if (!this._runs.isLost(key) && this._cells.dismiss(key, cell ?? '')) {
      this._sendRequest({ type: 'dismiss', run: key, cells: [] });
    }
  }

  private _sendRequest(message: ToKernel): void {
    this._link?.request(message).catch(() => undefined);
  }

  private _changed = new Signal<this, void>(this);
  private _cells: NotebookCells;
  private _pageIdPromise: Promise<string>;
  private _pageId = '';
  private _link: KernelLink | null = null;
  private _runs = new KnownRuns();
  private _traces: readonly TraceView[] = [];
  /** Maps each run whose calling cell was seen here to that cell. */
  private _cellsSeenHere = new Map<string, string>();
  private _syncing = new Set<string>();
  private _controls: RunControls;
  /** The ids of the runs with cells in the notebook, and of solutions, when `changed` was last emitted. */
  private _idsInNotebook = '';
  private _isDisposed = false;
}

/** The first code cell with this source. */
function findCode(
  notebook: ISharedNotebook,
  source: string
): ISharedCell | undefined {
  return notebook.cells.find(
    cell => cell.cell_type === 'code' && cell.getSource() === source
  );
}

/**
 * Asks the user before a cell with a solution replaces a variable that the solution's task treats as given. The kernel is
 * asked first what the cell's present source would replace. Where it cannot answer, the cell runs as any other.
 */
import type { ISharedCell } from '@jupyter/ydoc';
import { Dialog, showDialog } from '@jupyterlab/apputils';
import type { INotebookModel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import * as React from 'react';

import type { INotebookExplorations } from '../link/explorationInterface';
import type { FindReplaced, ReplacedVariable, RunView } from '../messages';
import { notify } from '../shared/sharedWording';
import { TextWithCode } from '../shared/TextWithCode';
import { markOf } from './generatedCell';

/** How long to wait for the kernel, in milliseconds: what the user has not been asked about is lost. */
const PATIENCE = 10_000;

/** The names in a notification, which is cut off if it is long. */
const MAX_NAMES = 2;

type Explorations = Pick<
  INotebookExplorations,
  'runs' | 'link' | 'changed' | 'request'
>;

/** Decides whether cells with solutions are run. */
export interface ISolutionGuard {
  /** Whether the cell has the solution of a run. */
  isSolution(cell: ISharedCell, notebook: INotebookModel): boolean;
  /**
   * Whether the solutions in these cells may run now. `more`: whether other cells wait to be run after them. Never
   * rejects.
   */
  mayRun(
    cells: readonly ISharedCell[],
    notebook: INotebookModel,
    more: boolean
  ): Promise<boolean>;
}

export class ReplacementGuard implements ISolutionGuard {
  /**
   * @param find - the explorations of a notebook
   * @param trans - translations of messages to the user
   * @param patience - how long to wait for the kernel, in milliseconds
   */
  constructor(
    private _find: (notebook: INotebookModel) => Explorations | undefined,
    private _trans: TranslationBundle,
    private _patience = PATIENCE
  ) {}

  isSolution(cell: ISharedCell, notebook: INotebookModel): boolean {
    return (
      cell.cell_type === 'code' &&
      (markOf(cell)?.role === 'solution' ||
        runWithCode(this._find(notebook), cell.getSource()) !== undefined)
    );
  }

  async mayRun(
    cells: readonly ISharedCell[],
    notebook: INotebookModel,
    more: boolean
  ): Promise<boolean> {
    const model = this._find(notebook);
    if (!model || !(await this._canAnswer(model))) {
      return true;
    }
    const found = await Promise.all(cells.map(cell => this._ask(model, cell)));
    const variables = unique(found.flat());
    if (variables.some(({ given }) => given)) {
      return confirmReplacement(variables, more, this._trans);
    }
    if (variables.length) {
      notify(replacedMessage(variables, this._trans));
    }
    return true;
  }

  /** Whether the kernel knows this page and is not blocked; waits while the page is connecting. */
  private async _canAnswer(model: Explorations): Promise<boolean> {
    if (model.link === 'connecting') {
      await within(this._patience, connected(model));
    }
    return model.link === 'ready';
  }

  private async _ask(
    model: Explorations,
    cell: ISharedCell
  ): Promise<ReplacedVariable[]> {
    const code = cell.getSource();
    const mark = markOf(cell);
    const message: FindReplaced = {
      type: 'find_replaced',
      run: mark?.run_id ?? runWithCode(model, code)?.key ?? '',
      cell: cell.getId(),
      code,
      given: mark?.given ?? []
    };
    const asked = model.request(message, this._patience);
    const answer = await within(this._patience, asked);
    return answer?.type === 'replaced' ? answer.variables : [];
  }
}

/** The newest run with this solution, which may have been inserted as an ordinary cell. */
function runWithCode(
  model: Explorations | undefined,
  code: string
): RunView | undefined {
  return model?.runs.filter(run => run.code === code && !run.patch).pop();
}

/** Resolves when the page is no longer connecting to the kernel. */
function connected(model: Explorations): Promise<void> {
  return new Promise(resolve => {
    const check = () => {
      if (model.link !== 'connecting') {
        model.changed.disconnect(check);
        resolve();
      }
    };
    model.changed.connect(check);
  });
}

/** The result of the promise, or `undefined` if it is rejected or takes longer. */
async function within<T>(
  patience: number,
  promise: Promise<T>
): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>(resolve => {
    timer = setTimeout(() => resolve(undefined), patience);
  });
  const result = promise.catch(() => undefined);
  return Promise.race([result, late]).finally(() => clearTimeout(timer));
}

/** Each variable once, the given ones first. */
function unique(variables: readonly ReplacedVariable[]): ReplacedVariable[] {
  const sorted = [
    ...variables.filter(({ given }) => given),
    ...variables.filter(({ given }) => !given)
  ];
  const names = sorted.map(({ name }) => name);
  return sorted.filter(({ name }, index) => names.indexOf(name) === index);
}

function described({ name, kind }: ReplacedVariable): string {
  return kind ? `${name} (${kind})` : name;
}

function replacedMessage(
  variables: readonly ReplacedVariable[],
  trans: TranslationBundle
): string {
  const names = variables.slice(0, MAX_NAMES).map(described).join(', ');
  const others = variables.length - MAX_NAMES;
  return others > 0
    ? trans.__(
        'The solution replaces your variables %1, %2 more.',
        names,
        others
      )
    : trans._n(
        'The solution replaces your variable %2.',
        'The solution replaces your variables %2.',
        variables.length,
        names
      );
}

/** Ask the user whether to replace these variables, some of which are given. */
async function confirmReplacement(
  variables: readonly ReplacedVariable[],
  more: boolean,
  trans: TranslationBundle
): Promise<boolean> {
  const { button } = await showDialog({
    title: trans.__('Replace your data?'),
    body: <ReplacedList variables={variables} more={more} trans={trans} />,
    buttons: [
      Dialog.cancelButton({ label: trans.__('Cancel') }),
      Dialog.warnButton({ label: trans.__('Replace') })
    ],
    defaultButton: 0
  });
  return button.accept;
}

function ReplacedList(props: {
  variables: readonly ReplacedVariable[];
  more: boolean;
  trans: TranslationBundle;
}): React.JSX.Element {
  const { variables, more, trans } = props;
  const given = variables.filter(variable => variable.given);
  const others = variables.filter(variable => !variable.given);
  const names = others.map(({ name }) => `\`${name}\``).join(', ');
  return (
    <div className="jp-Explora-replaced">
      <p>
        {trans._n(
          'The solution replaces a variable that its task starts from. Its present value would be lost:',
          'The solution replaces variables that its task starts from. Their present values would be lost:',
          given.length
        )}
      </p>
      <ul>
        {given.map(({ name, kind }) => (
          <li key={name}>
            <strong>
              <code>{name}</code>
            </strong>{' '}
            {kind && `(${kind})`}
          </li>
        ))}
      </ul>
      {others.length > 0 && (
        <p>
          <TextWithCode text={trans.__('It also replaces %1.', names)} />
        </p>
      )}
      {more && (
        <p>
          {trans.__(
            'If you cancel, the cells after the solution are not run either.'
          )}
        </p>
      )}
    </div>
  );
}

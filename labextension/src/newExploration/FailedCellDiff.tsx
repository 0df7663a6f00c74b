/** The end of an exploration of an error: how the solution differs from the cell that failed. */
import * as React from 'react';

import { compareCode, ICodePart } from '../shared/codeDiff';
import type { RunView } from '../messages';
import { useTrans } from '../shared/translation';
import type { IFormServices } from './formServicesToken';

export function FailedCellDiff(props: {
  run: RunView;
  forms: IFormServices;
}): React.JSX.Element | null {
  const trans = useTrans();
  const { run, forms } = props;
  const [, redraw] = React.useReducer((times: number) => times + 1, 0);
  const failed = run.code === null ? null : forms.failedSource(run);
  if (run.code === null || failed === null) {
    return null;
  }
  const same = failed.trim() === run.code.trim();
  const replace = () => {
    forms.replaceFailed(run);
    redraw();
  };
  return (
    <section aria-label={trans.__('Changes to the failed cell')}>
      <h3>{trans.__('Changes to the failed cell')}</h3>
      {same ? (
        <p>{trans.__('The cell contains the solution.')}</p>
      ) : (
        <>
          <Diff before={failed.trim()} after={run.code.trim()} />
          <div className="jp-Explora-buttons">
            <button
              type="button"
              className="jp-Explora-button jp-mod-primary"
              onClick={replace}
            >
              {trans.__('Replace the failed cell')}
            </button>
          </div>
        </>
      )}
    </section>
  );
}

const SIGNS = { same: ' ', added: '+', removed: '-' };

/** The lines of both codes, each with where it is. */
function diffLines(before: string, after: string): ICodePart[] {
  return compareCode(before, after).flatMap(({ kind, text }) =>
    text.split('\n').map(line => ({ kind, text: line }))
  );
}

function Diff(props: { before: string; after: string }): React.JSX.Element {
  const trans = useTrans();
  const names = {
    same: '',
    added: trans.__('added'),
    removed: trans.__('removed')
  };
  return (
    <ol
      className="jp-Explora-diff"
      tabIndex={0}
      aria-label={trans.__('Changes')}
    >
      {diffLines(props.before, props.after).map(({ kind, text }, index) => (
        <li key={index} className={kind === 'same' ? '' : `jp-mod-${kind}`}>
          <span aria-hidden="true">{SIGNS[kind]}</span>
          {names[kind] && (
            <span className="jp-Explora-unseen">{names[kind]}: </span>
          )}
          {text}
        </li>
      ))}
    </ol>
  );
}

/** The end of an exploration of an error: how the solution differs from the cell that failed. */
import * as React from 'react';

import type { RunView } from '../messages';
import { useTrans } from '../sidebar/sidebarContext';
import type { ISidebarForms } from './sidebarFormsToken';
import { lineDiff } from './lineDiff';

export function FailedCellDiff(props: {
  run: RunView;
  forms: ISidebarForms;
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

function Diff(props: { before: string; after: string }): React.JSX.Element {
  const trans = useTrans();
  const names = { '+': trans.__('added'), '-': trans.__('removed'), ' ': '' };
  const kinds = { '+': 'jp-mod-added', '-': 'jp-mod-removed', ' ': '' };
  return (
    <ol
      className="jp-Explora-diff"
      tabIndex={0}
      aria-label={trans.__('Changes')}
    >
      {lineDiff(props.before, props.after).map(({ sign, text }, index) => (
        <li key={index} className={kinds[sign]}>
          <span aria-hidden="true">{sign}</span>
          {names[sign] && (
            <span className="jp-Explora-unseen">{names[sign]}: </span>
          )}
          {text}
        </li>
      ))}
    </ol>
  );
}

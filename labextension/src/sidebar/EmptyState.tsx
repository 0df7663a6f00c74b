/**
 * The content before the first run: an introduction and an example.
 */
import * as React from 'react';

import type { LinkStatus } from '../link/tokens';
import { exampleCells } from './example';
import type { IHostServices } from './sidebarContext';
import { useTrans } from './sidebarContext';

/** Matches options, within which lines are not broken. */
const OPTION = /(--\w+)/;

export function EmptyState(props: {
  link: LinkStatus;
  host: IHostServices;
}): React.JSX.Element {
  const trans = useTrans();
  const { link, host } = props;
  const loaded = link === 'ready'; // loading twice is harmless, so load when in doubt
  const [copied, setCopied] = React.useState(false);
  const copy = () => {
    host.copy(exampleCells(loaded).join('\n\n'));
    setCopied(true);
  };
  if (!host.hasNotebook) {
    return (
      <section className="jp-Explora-empty">
        <h2>{trans.__('Explore a library')}</h2>
        <p>{trans.__('Open a notebook to explore a library in it.')}</p>
      </section>
    );
  }
  return (
    <section className="jp-Explora-empty">
      <h2>{trans.__('Explore a library')}</h2>
      <p>
        {trans.__(
          'Name an installed library and describe a task. The task is split into small steps, several snippets are run for each step outside your kernel, and those that work are combined into a solution.'
        )}
      </p>
      <p>
        {loaded
          ? trans.__('Put this in a cell and run it:')
          : trans.__('Put these in two cells and run both:')}
      </p>
      {exampleCells(loaded).map(source => (
        <pre key={source}>
          {source
            .split(OPTION)
            .map((part, index) =>
              index % 2 ? <span key={index}>{part}</span> : part
            )}
        </pre>
      ))}
      <div className="jp-Explora-buttons">
        <button
          type="button"
          className="jp-Explora-button jp-mod-primary"
          onClick={() => host.insertExample(loaded)}
        >
          {trans.__('Insert an example')}
        </button>
        <button type="button" className="jp-Explora-button" onClick={copy}>
          {copied ? trans.__('Copied') : trans.__('Copy')}
        </button>
      </div>
      <p className="jp-Explora-note">
        {trans.__(
          'The example needs no model and takes a few seconds. %1 sets a check that the solution must pass. Run %2 to show all options.',
          '--check',
          '%%explora?'
        )}
      </p>
      {host.shortcut && (
        <p className="jp-Explora-note">
          {trans.__('Press %1 in the notebook to come here.', host.shortcut)}
        </p>
      )}
    </section>
  );
}

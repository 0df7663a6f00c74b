/**
 * The content before the first run: an introduction, the form for a task and an example.
 */
import * as React from 'react';

import { SettingsButton } from './NavigationBar';
import { TaskForm } from '../newExploration/TaskForm';
import type { LinkStatus } from '../link/explorationInterface';
import { exampleCells } from './example';
import type { IHostServices } from './hostServices';
import { useTrans } from '../shared/translation';

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
      <div className="jp-Explora-planHead">
        <h2>{trans.__('Explore a library')}</h2>
        <SettingsButton forms={host.forms} />
      </div>
      <p>
        {trans.__(
          'A whole program is tried first, outside your kernel; where its result does not convince, the task is split into small steps, several snippets are tried for each, and those that work are combined into a solution.'
        )}
      </p>
      <TaskForm
        key={host.forms.version}
        forms={host.forms}
        focus={host.forms.page === 'new'}
      />
      <h3>{trans.__('Or try an example')}</h3>
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
          className="jp-Explora-button"
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
          'The example also works without a model. Run %1 to show all options.',
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

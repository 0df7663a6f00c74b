/** The line at the top of the sidebar that leads to its forms. */
import { settingsIcon } from '@jupyterlab/ui-components';
import * as React from 'react';

import { isFinished } from '../link/runStatus';
import type { RunView } from '../messages';
import { useTrans } from '../shared/translation';
import type {
  SidebarPage,
  IFormServices
} from '../newExploration/formServicesToken';

export function NavigationBar(props: {
  forms: IFormServices;
  /** The run that is shown. */
  run: RunView;
}): React.JSX.Element {
  const trans = useTrans();
  const { forms, run } = props;
  return (
    <div className="jp-Explora-navigationBar">
      <button
        type="button"
        className="jp-Explora-button"
        onClick={() => forms.show('new')}
      >
        {trans.__('New exploration')}
      </button>
      {isFinished(run) && run.code !== null && (
        <button
          type="button"
          className="jp-Explora-button"
          title={trans.__(
            'Explore another task from the state after the solution'
          )}
          onClick={() => forms.followUp(run)}
        >
          {trans.__('Follow up…')}
        </button>
      )}
      <SettingsButton forms={forms} />
    </div>
  );
}

export function SettingsButton({
  forms
}: {
  forms: IFormServices;
}): React.JSX.Element {
  const trans = useTrans();
  return (
    <button
      type="button"
      className="jp-Explora-button jp-Explora-gear"
      aria-label={trans.__('Settings')}
      title={trans.__('Settings')}
      onClick={() => forms.show('settings')}
    >
      <settingsIcon.react tag="span" aria-hidden="true" />
    </button>
  );
}

/** The page to show. Renders again when another one is requested. */
export function useSidebarPage(forms: IFormServices): SidebarPage {
  const [, redraw] = React.useReducer((times: number) => times + 1, 0);
  React.useEffect(() => {
    forms.changed.connect(redraw);
    return () => {
      forms.changed.disconnect(redraw);
    };
  }, [forms]);
  return forms.page;
}

/** The page of the sidebar with the kernel's settings. It needs a kernel that has loaded the extension. */
import * as React from 'react';

import type { IFormServices } from '../newExploration/formServicesToken';
import type { LinkStatus } from '../link/explorationInterface';
import type { SettingsView } from '../messages';
import { useTrans } from '../shared/translation';
import { SettingsClient } from './settingsClient';
import { SettingsForm } from './SettingsForm';

export function SettingsPage(props: {
  forms: IFormServices;
  link: LinkStatus;
}): React.JSX.Element {
  const trans = useTrans();
  const { forms, link } = props;
  const close = () => forms.show('runs');
  return (
    <section className="jp-Explora-scroll">
      <h2 tabIndex={-1}>{trans.__('Settings')}</h2>
      {link === 'ready' ? (
        <Loaded forms={forms} onClose={close} />
      ) : (
        <NotLoaded forms={forms} onClose={close} />
      )}
    </section>
  );
}

function NotLoaded(props: {
  forms: IFormServices;
  onClose: () => void;
}): React.JSX.Element {
  const trans = useTrans();
  return (
    <>
      <p>
        {trans.__(
          'The settings are in a file on the machine of the kernel, which reads them once it has loaded the extension.'
        )}
      </p>
      <div className="jp-Explora-buttons">
        <button
          type="button"
          className="jp-Explora-button jp-mod-primary"
          onClick={() => props.forms.loadExtension()}
        >
          {trans.__('Load the extension')}
        </button>
        <button
          type="button"
          className="jp-Explora-button"
          onClick={props.onClose}
        >
          {trans.__('Close')}
        </button>
      </div>
    </>
  );
}

function Loaded(props: {
  forms: IFormServices;
  onClose: () => void;
}): React.JSX.Element {
  const trans = useTrans();
  const { forms, onClose } = props;
  const client = React.useMemo(
    () =>
      new SettingsClient((message, timeout) => forms.request(message, timeout)),
    [forms]
  );
  const [view, setView] = React.useState<SettingsView | null>(null);
  const [failed, setFailed] = React.useState(false);
  React.useEffect(() => {
    void client
      .read()
      .then(read => ('failure' in read ? setFailed(true) : setView(read)));
  }, [client]);
  if (view && view.settings.length) {
    return <SettingsForm client={client} view={view} onClose={onClose} />;
  }
  return (
    <>
      <p role="status">
        {failed
          ? trans.__('The kernel did not send its settings.')
          : view
            ? view.problem
            : trans.__('Reading the settings…')}
      </p>
      <div className="jp-Explora-buttons">
        <button type="button" className="jp-Explora-button" onClick={onClose}>
          {trans.__('Close')}
        </button>
      </div>
    </>
  );
}

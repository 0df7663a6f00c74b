/**
 * The submit and cancel buttons below a form.
 */
import * as React from 'react';

import { useTrans } from '../shared/translation';

export function FormButtons(props: {
  submit: string;
  onCancel: () => void;
}): React.JSX.Element {
  const trans = useTrans();
  return (
    <div className="jp-Explora-buttons">
      <button type="submit" className="jp-Explora-button jp-mod-primary">
        {props.submit}
      </button>
      <button
        type="button"
        className="jp-Explora-button"
        onClick={props.onCancel}
      >
        {trans.__('Cancel')}
      </button>
    </div>
  );
}

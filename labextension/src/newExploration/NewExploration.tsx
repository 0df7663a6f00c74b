/** The form for a new exploration in place of the runs. */
import * as React from 'react';

import { useTrans } from '../shared/translation';
import type { IFormServices } from './formServicesToken';
import { TaskForm } from './TaskForm';

export function NewExploration({
  forms
}: {
  forms: IFormServices;
}): React.JSX.Element {
  const trans = useTrans();
  return (
    <section className="jp-Explora-scroll">
      <h2>{trans.__('New exploration')}</h2>
      <TaskForm
        key={forms.version}
        forms={forms}
        focus
        onClose={() => forms.show('runs')}
      />
    </section>
  );
}

/** The changes to a failed cell that are shown at the end. */
import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import * as React from 'react';

import {
  FakeFormServices,
  run,
  solved
} from '../../sidebar/__tests__/fakeModel';
import { FailedCellDiff } from '../FailedCellDiff';

afterEach(cleanup);

describe('the changes to a failed cell', () => {
  const show = (failed: string | null, view = solved({ code: 'a = 2' })) => {
    const forms = new FakeFormServices();
    forms.failed = failed;
    render(<FailedCellDiff run={view} forms={forms} />);
    return forms;
  };

  it('are shown, and replace its source on request', () => {
    const forms = show('a = 1 +');
    const lines = screen.getAllByRole('listitem').map(each => each.textContent);
    expect(lines).toEqual(['-removed: a = 1 +', '+added: a = 2']);
    fireEvent.click(screen.getByRole('button'));
    expect(forms.failed).toBe('a = 2');
    expect(screen.queryByRole('button')).toBeNull();
    screen.getByText('The cell contains the solution.');
  });

  it('are not shown without a failed cell or a solution', () => {
    show(null);
    show('a = 1', run({ code: null }));
    expect(screen.queryByRole('heading')).toBeNull();
  });
});

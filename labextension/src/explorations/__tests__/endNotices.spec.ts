import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { nullTranslator } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';

import type { INotebookExplorations } from '../../link/explorationInterface';
import type { RunView } from '../../messages';
import { EndNotices } from '../endNotices';
import { runView } from '../../generatedCells/__tests__/runFixtures';

let runs: RunView[];
let visible: boolean;
let shown: string[];
let notices: EndNotices;
const model = {
  get runs() {
    return runs;
  }
} as unknown as INotebookExplorations;
const changed = new Signal<INotebookExplorations, void>(model);
Object.assign(model, { changed });

const panel = {
  id: 'work',
  content: { widgets: [] },
  get isVisible() {
    return visible;
  },
  title: { label: 'work.ipynb' }
} as unknown as NotebookPanel;

function become(status: RunView['status']): void {
  runs = [runView({ status, task: 'Count words\nof a file' })];
  changed.emit(undefined);
}

function messages(): string[] {
  return Notification.manager.notifications.map(({ message }) => message);
}

beforeEach(() => {
  Notification.dismiss();
  runs = [];
  visible = false;
  shown = [];
  notices = new EndNotices(
    panel,
    model,
    {
      activateById: (id: string) => shown.push(id)
    } as unknown as JupyterFrontEnd.IShell,
    nullTranslator.load('exploracoder_jupyter')
  );
});

afterEach(() => notices.dispose());

describe('EndNotices', () => {
  it('should say once that a run out of view has ended, and lead to it', () => {
    become('running');
    become('solved');
    become('solved');
    expect(messages()).toEqual(['Solved in work.ipynb: Count words']);
    const [notice] = Notification.manager.notifications;
    expect(notice.type).toBe('success');
    notice.options.actions![0].callback(new MouseEvent('click'));
    expect(shown).toEqual(['work']);
  });

  it('should not say what the user sees', () => {
    visible = true;
    become('running');
    become('unsolved');
    expect(messages()).toEqual([]);
  });

  it('should not mention runs that had ended before the page was opened', () => {
    become('solved');
    expect(messages()).toEqual([]);
  });

  it('should not notify once its notebook is closed', () => {
    become('running');
    notices.dispose();
    become('failed');
    expect(messages()).toEqual([]);
  });
});

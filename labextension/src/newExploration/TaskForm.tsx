/** The form that starts an exploration: it writes the calling cell into the notebook and runs it. */
import * as React from 'react';

import { useTrans } from '../shared/translation';
import { ITask, splitLibraries } from './callingCellSource';
import { Combobox } from './Combobox';
import { EFFORTS, effortLabels } from './effortLabels';
import type { IFormServices } from './formServicesToken';
import { Field, noteId } from '../shared/Field';
import { ILibraryNames, suggestLibraries } from './librarySuggestions';

const EXAMPLE_CHECK = 'assert length == 5';

type Problems = Partial<Record<keyof ITask, string>>;

interface IFields {
  task: ITask;
  problems: Problems;
  set: (change: Partial<ITask>) => void;
}

export function TaskForm(props: {
  forms: IFormServices;
  /** Closes the form; absent where there is nothing else to show. */
  onClose?: () => void;
  /** Whether to focus the first empty field at once. */
  focus: boolean;
}): React.JSX.Element {
  const trans = useTrans();
  const { forms, onClose } = props;
  const [task, setTask] = React.useState(forms.draft);
  const [problems, setProblems] = React.useState<Problems>({});
  const form = React.useRef<HTMLFormElement>(null);
  const focusFirst = (selector: string) =>
    form.current?.querySelector<HTMLElement>(selector)?.focus();
  React.useEffect(() => {
    if (!props.focus) {
      return undefined;
    }
    // The sidebar may be about to open, and the command palette about to close.
    const timer = setTimeout(() =>
      focusFirst(task.libraries ? 'textarea' : 'input')
    );
    return () => clearTimeout(timer);
  }, []);
  const set = (change: Partial<ITask>) => {
    const changed = { ...task, ...change };
    setTask(changed);
    forms.keepDraft(changed);
    const cleared = Object.keys(change).map(name => [name, undefined]);
    setProblems({ ...problems, ...Object.fromEntries(cleared) });
  };
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    const found: Problems = {};
    if (splitLibraries(task.libraries).length === 0) {
      found.libraries = trans.__('Name at least one library.');
    }
    if (task.task.trim() === '') {
      found.task = trans.__('Describe the task in words.');
    }
    setProblems(found);
    if (Object.keys(found).length === 0) {
      forms.explore(task);
    } else {
      setTimeout(() => focusFirst('[aria-invalid="true"]'));
    }
  };
  const press = (event: React.KeyboardEvent) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.stopPropagation();
      submit(event);
    } else if (event.key === 'Escape') {
      onClose?.();
    }
  };
  const fields = { task, problems, set };
  return (
    <form
      ref={form}
      className="jp-Explora-fieldForm"
      aria-label={trans.__('New exploration')}
      onSubmit={submit}
      onKeyDown={press}
      noValidate
    >
      <LibraryField {...fields} forms={forms} />
      <TaskField {...fields} />
      <CheckField {...fields} />
      {task.setup && <SetupField {...fields} />}
      <div className="jp-Explora-fieldRow">
        <ModelField {...fields} />
        <EffortField {...fields} />
      </div>
      <div className="jp-Explora-buttons">
        <button
          type="submit"
          className="jp-Explora-button jp-mod-primary"
          title={trans.__('Write the cell and run it (Ctrl Enter)')}
        >
          {trans.__('Explore')}
        </button>
        {onClose && (
          <button type="button" className="jp-Explora-button" onClick={onClose}>
            {trans.__('Cancel')}
          </button>
        )}
      </div>
    </form>
  );
}

function LibraryField(
  props: IFields & { forms: IFormServices }
): React.JSX.Element {
  const trans = useTrans();
  const { task, problems, set, forms } = props;
  const id = React.useId();
  const [names, setNames] = React.useState<ILibraryNames>({
    imported: [],
    installed: []
  });
  const load = () => void forms.libraryNames().then(setNames);
  const [, before, word] = /^(.*[\s,])?(.*)$/s.exec(task.libraries) ?? [];
  const chosen = splitLibraries(before ?? '');
  return (
    <Field id={id} label={trans.__('Library')} problem={problems.libraries}>
      <Combobox
        id={id}
        value={task.libraries}
        onChange={libraries => set({ libraries })}
        suggestions={suggestLibraries(word ?? '', names, chosen)}
        accept={name => `${before ?? ''}${name}`}
        listLabel={trans.__('Libraries')}
        placeholder={trans.__('For example: numpy, pandas')}
        invalid={!!problems.libraries}
        describedBy={noteId(id, problems.libraries)}
        onFocus={load}
      />
    </Field>
  );
}

function TaskField({ task, problems, set }: IFields): React.JSX.Element {
  const trans = useTrans();
  const id = React.useId();
  return (
    <Field id={id} label={trans.__('Task')} problem={problems.task}>
      <textarea
        id={id}
        className="jp-Explora-input"
        rows={4}
        value={task.task}
        placeholder={trans.__(
          'In words, with the names of the variables to use and to set'
        )}
        aria-invalid={problems.task ? true : undefined}
        aria-describedby={noteId(id, problems.task)}
        onChange={event => set({ task: event.target.value })}
      />
    </Field>
  );
}

function CheckField({ task, set }: IFields): React.JSX.Element {
  const trans = useTrans();
  const id = React.useId();
  const note = trans.__('Python that the solution must pass.');
  return (
    <Field id={id} label={trans.__('Check (optional)')} note={note}>
      <textarea
        id={id}
        className="jp-Explora-input jp-mod-code"
        rows={2}
        spellCheck={false}
        value={task.check}
        placeholder={EXAMPLE_CHECK}
        aria-describedby={noteId(id, note)}
        onChange={event => set({ check: event.target.value })}
      />
    </Field>
  );
}

function SetupField({ task, set }: IFields): React.JSX.Element {
  const trans = useTrans();
  const id = React.useId();
  const note = trans.__('Code that runs before the exploration.');
  return (
    <Field id={id} label={trans.__('Starts from')} note={note}>
      <textarea
        id={id}
        className="jp-Explora-input jp-mod-code"
        rows={4}
        spellCheck={false}
        value={task.setup}
        aria-describedby={noteId(id, note)}
        onChange={event => set({ setup: event.target.value })}
      />
    </Field>
  );
}

function ModelField({ task, set }: IFields): React.JSX.Element {
  const trans = useTrans();
  const id = React.useId();
  const offline = 'offline'; // needs no endpoint
  return (
    <Field id={id} label={trans.__('Model')}>
      <Combobox
        id={id}
        value={task.model}
        onChange={model => set({ model })}
        suggestions={task.model ? [] : [offline]}
        accept={model => model}
        listLabel={trans.__('Models')}
        placeholder={trans.__('As configured')}
      />
    </Field>
  );
}

function EffortField({ task, set }: IFields): React.JSX.Element {
  const trans = useTrans();
  const id = React.useId();
  const labels = effortLabels(trans);
  return (
    <Field id={id} label={trans.__('Effort')}>
      <select
        id={id}
        className="jp-Explora-select"
        value={task.effort}
        onChange={event => set({ effort: event.target.value })}
      >
        <option value="">{trans.__('As configured')}</option>
        {EFFORTS.map(effort => (
          <option key={effort} value={effort}>
            {labels[effort]}
          </option>
        ))}
      </select>
    </Field>
  );
}

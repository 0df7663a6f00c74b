/** The editor in which the user changes the code of a candidate and runs it. */
import { CodeEditor, CodeEditorWrapper } from '@jupyterlab/codeeditor';
import { Widget } from '@lumino/widgets';
import * as React from 'react';

import { ActionButton } from '../sidebar/ActionButton';
import { useTrans } from '../shared/translation';
import { useBoardServices } from './boardContext';

interface IEditForm {
  code: string;
  /** Id of the candidate. */
  candidate: string;
  /** Whether the run has ended, so that it is continued with the edited code. */
  over: boolean;
  pending: boolean;
  /** Called when the code has changed. */
  onEdit: (code: string) => void;
  onRun: (code: string) => void;
  onCancel: () => void;
  /** Moves the focus out of the editor. */
  onLeave: () => void;
}

export function EditForm(props: IEditForm): React.JSX.Element {
  const trans = useTrans();
  const { candidate, over, pending } = props;
  const [blank, setBlank] = React.useState(props.code.trim() === '');
  const current = React.useRef(props.code);
  const node = useEditor(props, code => {
    current.current = code;
    setBlank(code.trim() === '');
    props.onEdit(code);
  });
  const run = () => {
    if (!blank && !pending) {
      props.onRun(current.current);
    }
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    const accel = event.ctrlKey || event.metaKey;
    if (event.key === 'Enter' && (accel || event.shiftKey)) {
      event.preventDefault();
      event.stopPropagation();
      run();
    } else if (event.key === 'Escape') {
      event.preventDefault();
      event.stopPropagation();
      props.onLeave();
    }
  };
  return (
    <form
      className="jp-Explora-boardForm"
      aria-label={trans.__('Edit candidate %1', candidate)}
      onSubmit={event => {
        event.preventDefault();
        run();
      }}
    >
      <div
        ref={node}
        className="jp-Explora-boardEditor"
        onKeyDownCapture={onKeyDown}
      />
      <p className="jp-Explora-note">
        {over
          ? trans.__(
              'The run has ended: it is explored again from here with your code, and the new cells replace the present ones.'
            )
          : trans.__(
              'Your code runs in the state before this subtask, as a candidate of its own.'
            )}{' '}
        {trans.__('Shift Enter runs it, Escape leaves the editor.')}
      </p>
      <div className="jp-Explora-buttons">
        <ActionButton
          type="submit"
          pending={pending || blank}
          className="jp-mod-primary"
        >
          {over ? trans.__('Run and explore again') : trans.__('Run')}
        </ActionButton>
        <ActionButton pending={false} onClick={props.onCancel}>
          {trans.__('Cancel')}
        </ActionButton>
      </div>
    </form>
  );
}

/** Shows the application's editor in the element of the returned reference, as long as that exists. */
function useEditor(
  { code, candidate }: IEditForm,
  onChange: (code: string) => void
): React.RefObject<HTMLDivElement> {
  const trans = useTrans();
  const { editorFactory, mimeType } = useBoardServices();
  const node = React.useRef<HTMLDivElement>(null);
  const changed = React.useRef(onChange);
  changed.current = onChange;
  React.useLayoutEffect(() => {
    const model = new CodeEditor.Model({ mimeType });
    model.sharedModel.setSource(code);
    const wrapper = new CodeEditorWrapper({ factory: editorFactory, model });
    Widget.attach(wrapper, node.current!);
    const label = trans.__('Code of candidate %1', candidate);
    wrapper.node
      .querySelector('[contenteditable]')
      ?.setAttribute('aria-label', label);
    model.sharedModel.changed.connect(shared =>
      changed.current(shared.getSource())
    );
    wrapper.editor.focus();
    return () => {
      wrapper.dispose();
      model.dispose();
    };
    // The editor has its own state from then on.
  }, []);
  return node;
}

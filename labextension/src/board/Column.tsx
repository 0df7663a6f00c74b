/** One candidate: its heading, status and actions, its code, and its outputs. */
import { JSONExt } from '@lumino/coreutils';
import * as React from 'react';

import type { CandidateView } from '../messages';
import { ActionButton } from '../sidebar/ActionButton';
import { formatSeconds } from '../shared/format';
import { StatusGlyph } from '../shared/icons';
import { useTrans } from '../shared/translation';
import { candidateStatusLabel } from '../shared/statusLabels';
import type { ICandidateContent } from './candidateContents';
import { CodeView } from './CodeView';
import { EditForm } from './EditForm';
import { RenderedOutputs } from './RenderedOutputs';
import { useVisible } from './useVisible';

/** What the user can do with a candidate. */
export type ColumnAction = 'use' | 'edit' | 'compare';

export interface IColumn {
  candidate: CandidateView;
  content: ICandidateContent | undefined;
  /** The code to compare with; `null` for the base itself. */
  base: string | null;
  isBase: boolean;
  /** Whether it is carried forward. */
  isSelected: boolean;
  /** Ids of the other candidates with the same result, as text. */
  sameAs: string;
  /** Whether it is the column that the Tab key reaches. */
  isActive: boolean;
  canUse: boolean;
  canEdit: boolean;
  /** Whether the run has ended. */
  over: boolean;
  isChoosing: boolean;
  isSending: boolean;
  /** The code in the editor, or `null` if the candidate is not being edited. */
  draft: string | null;
  position: number;
  size: number;
  /** These must have a stable identity. */
  onAction: (id: string, action: ColumnAction) => void;
  onDraft: (id: string, code: string | null) => void;
  onRun: (id: string, code: string) => void;
}

export const Column = React.memo(ColumnContent, isSame);

function ColumnContent(props: IColumn): React.JSX.Element {
  const trans = useTrans();
  const { candidate, content } = props;
  const { id } = candidate;
  const node = React.useRef<HTMLElement>(null);
  const visible = useVisible(node, '.jp-Explora-boardScroll');
  const editing = props.draft !== null;
  const onKeyDown = (event: React.KeyboardEvent) => {
    const action = actionOfKey(event.key);
    const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
    if (event.target === node.current && plain && action) {
      event.preventDefault();
      event.stopPropagation();
      props.onAction(id, action);
    } else if (event.key === 'Escape' && event.target !== node.current) {
      event.stopPropagation();
      node.current?.focus();
    }
  };
  return (
    <article
      ref={node}
      className={`jp-Explora-boardColumn${props.isSelected ? ' jp-mod-selected' : ''}`}
      data-candidate={id}
      tabIndex={props.isActive ? 0 : -1}
      aria-label={describe(props, trans)}
      onKeyDown={onKeyDown}
    >
      <Heading {...props} />
      {editing ? (
        <EditForm
          code={props.draft ?? ''}
          candidate={id}
          over={props.over}
          pending={props.isSending}
          onEdit={code => props.onDraft(id, code)}
          onRun={code => props.onRun(id, code)}
          onCancel={() => {
            props.onDraft(id, null);
            node.current?.focus();
          }}
          onLeave={() => node.current?.focus()}
        />
      ) : visible && content ? (
        <CodeView
          code={content.code}
          base={props.base}
          label={trans.__('Code of candidate %1', id)}
        />
      ) : (
        <div className="jp-Explora-boardCode" />
      )}
      <div className="jp-Explora-boardResult">
        {visible && <Result {...props} />}
      </div>
    </article>
  );
}

function Heading(props: IColumn): React.JSX.Element {
  const trans = useTrans();
  const { candidate, onAction } = props;
  const { id, repairs, edits, apis } = candidate;
  const label = candidateStatusLabel(candidate.status, trans);
  return (
    <header className="jp-Explora-boardHead">
      <h4>
        {trans.__('Candidate %1', id)}
        {props.isSelected && (
          <span className="jp-Explora-chip">{trans.__('carried forward')}</span>
        )}
        {props.isBase && (
          <span className="jp-Explora-chip">{trans.__('base')}</span>
        )}
      </h4>
      <p className="jp-Explora-boardStatus">
        <StatusGlyph sign={label.sign} />
        <span>{label.text}</span>
        {candidate.seconds !== null && (
          <span className="jp-Explora-boardSeconds">
            {formatSeconds(candidate.seconds, trans)}
          </span>
        )}
        {edits && <span>{trans.__('your edit of %1', edits)}</span>}
        {repairs && <span>{trans.__('repair of %1', repairs)}</span>}
      </p>
      <p className="jp-Explora-boardApis">
        {apis.length ? (
          <>
            {trans.__('APIs:')} <code>{apis.join(', ')}</code>
          </>
        ) : (
          candidate.status !== 'running' && trans.__('No APIs recognized')
        )}
      </p>
      <div className="jp-Explora-buttons">
        {props.canUse && (
          <ActionButton
            pending={props.isChoosing}
            title={trans.__('Later subtasks are explored again')}
            onClick={() => onAction(id, 'use')}
          >
            {props.isChoosing
              ? trans.__('Changing…')
              : props.over
                ? trans.__('Use this one…')
                : trans.__('Use this one')}
          </ActionButton>
        )}
        {props.canEdit && props.draft === null && (
          <ActionButton
            pending={props.isSending}
            onClick={() => onAction(id, 'edit')}
          >
            {props.isSending ? trans.__('Running…') : trans.__('Edit and run…')}
          </ActionButton>
        )}
        {!props.isBase && (
          <ActionButton pending={false} onClick={() => onAction(id, 'compare')}>
            {trans.__('Set as base')}
          </ActionButton>
        )}
      </div>
    </header>
  );
}

function Result(props: IColumn): React.JSX.Element {
  const trans = useTrans();
  const { candidate, content } = props;
  if (content?.outputs.length) {
    return <RenderedOutputs outputs={content.outputs} />;
  }
  const text =
    candidate.status === 'running'
      ? trans.__('Running…')
      : candidate.line ||
        (content
          ? trans.__('No output')
          : trans.__('The cell of this candidate is not in this notebook.'));
  return <p className="jp-Explora-note">{text}</p>;
}

/** The name of the column for screen readers. */
function describe(props: IColumn, trans: ReturnType<typeof useTrans>): string {
  const { candidate, position, size } = props;
  const { seconds } = candidate;
  return [
    trans.__('Candidate %1', candidate.id),
    candidateStatusLabel(candidate.status, trans).text,
    seconds === null ? '' : formatSeconds(seconds, trans),
    props.isSelected ? trans.__('carried forward') : '',
    props.sameAs ? trans.__('same result as %1', props.sameAs) : '',
    trans.__('%1 of %2', position, size)
  ]
    .filter(Boolean)
    .join(', ');
}

function actionOfKey(key: string): ColumnAction | null {
  switch (key) {
    case 'Enter':
    case 'u':
      return 'use';
    case 'e':
      return 'edit';
    case 'b':
      return 'compare';
    default:
      return null;
  }
}

/** A run is sent several times a second, with new objects for candidates that have not changed. */
function isSame(before: IColumn, now: IColumn): boolean {
  const keys = Object.keys(now) as (keyof IColumn)[];
  return keys.every(key =>
    key === 'candidate'
      ? JSONExt.deepEqual({ ...before.candidate }, { ...now.candidate })
      : before[key] === now[key]
  );
}

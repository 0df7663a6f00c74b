/**
 * The rows of the plan's tree. A run may have hundreds of rows and is sent up to five times a second, so each row is
 * rendered again only if one of its primitive props has changed.
 */
import * as React from 'react';

import { formatSeconds } from '../shared/format';
import { useTrans } from '../shared/translation';
import { Chevron, StatusGlyph } from '../shared/icons';
import type { CandidateView, SubtaskView } from '../messages';
import { TextWithCode } from '../shared/TextWithCode';
import {
  candidateStatusLabel,
  subtaskStatusLabel
} from '../shared/statusLabels';

/** The props of all rows. */
interface IRow {
  itemKey: string;
  level: number;
  position: number;
  size: number;
  open: boolean | null;
  /** Whether this is the active row. */
  active: boolean;
  /** Whether the row can be reached with the Tab key. */
  tabbable: boolean;
  /** Must have a stable identity. */
  onPress: (itemKey: string, on: 'row' | 'fold') => void;
  /** Rendered below the row. Set only for the active row. */
  extra?: React.ReactNode;
}

function Row(
  props: IRow & { kind: string; children: React.ReactNode; title?: string }
): React.JSX.Element {
  const { itemKey, open, active, onPress } = props;
  const fold = (event: React.MouseEvent) => {
    event.stopPropagation();
    onPress(itemKey, 'fold');
  };
  return (
    <li
      role="treeitem"
      className={`jp-Explora-item jp-mod-${props.kind}${active ? ' jp-mod-active' : ''}`}
      data-key={itemKey}
      aria-level={props.level}
      aria-posinset={props.position}
      aria-setsize={props.size}
      aria-expanded={open ?? undefined}
      aria-selected={active}
      tabIndex={props.tabbable ? 0 : -1}
      title={props.title}
    >
      <div className="jp-Explora-row" onClick={() => onPress(itemKey, 'row')}>
        <span
          className="jp-Explora-fold"
          onClick={open === null ? undefined : fold}
        >
          {open !== null && <Chevron open={open} />}
        </span>
        <div className="jp-Explora-label">{props.children}</div>
      </div>
      {props.extra}
    </li>
  );
}

export const SubtaskRow = React.memo(
  (
    props: IRow & {
      name: string;
      title: string;
      status: SubtaskView['status'];
      /** Whether the run has ended. */
      over: boolean;
      reason: string;
      hint: string;
      candidates: number;
    }
  ): React.JSX.Element => {
    const trans = useTrans();
    const { name, title, reason, hint, candidates, ...row } = props;
    const label = subtaskStatusLabel(props.status, trans, props.over);
    return (
      <Row {...row} title={undefined} kind="subtask">
        <StatusGlyph sign={label.sign} />
        <span className="jp-Explora-title">
          {name && <b>{name} </b>}
          <TextWithCode text={title} />
        </span>
        <span className="jp-Explora-note">
          {label.text}
          {candidates > 0 && ', '}
          {candidates > 0 &&
            trans._n('%1 candidate', '%1 candidates', candidates)}
          {reason && <TextWithCode text={`: ${reason}`} />}
        </span>
        {hint && (
          <span className="jp-Explora-note">
            <TextWithCode text={trans.__('Hint: %1', hint)} />
          </span>
        )}
      </Row>
    );
  }
);

export const CandidateRow = React.memo(
  (
    props: IRow &
      Omit<CandidateView, 'apis'> & {
        selected: boolean;
        /** Why it was selected or kept. */
        why: string;
      }
  ): React.JSX.Element => {
    const trans = useTrans();
    const label = candidateStatusLabel(props.status, trans);
    // A failed candidate is kept only for the information in its failure.
    const carried = props.selected && props.status === 'ok';
    return (
      <Row {...props} kind="candidate" title={props.line || undefined}>
        <StatusGlyph sign={label.sign} />
        <span className="jp-Explora-name">{props.id}</span>
        <span>{label.text}</span>
        {props.round > 0 && (
          <span className="jp-Explora-note">
            {props.repairs
              ? trans.__('repair %1 of %2', props.round, props.repairs)
              : trans.__('repair %1', props.round)}
          </span>
        )}
        {props.edits && (
          <span className="jp-Explora-note">
            {trans.__('your edit of %1', props.edits)}
          </span>
        )}
        {carried && (
          <span className="jp-Explora-chip">{trans.__('carried forward')}</span>
        )}
        {props.seconds !== null && (
          <span className="jp-Explora-seconds">
            {formatSeconds(props.seconds, trans)}
          </span>
        )}
        {props.line && <span className="jp-Explora-line">{props.line}</span>}
        {props.selected && props.why && (
          <span className="jp-Explora-note">
            <TextWithCode
              text={carried ? trans.__('Why: %1', props.why) : props.why}
            />
          </span>
        )}
      </Row>
    );
  }
);

export const ApisRow = React.memo(
  (props: IRow & { recommended: number; used: number }): React.JSX.Element => {
    const trans = useTrans();
    return (
      <Row {...props} kind="apis">
        <span>
          {props.recommended
            ? trans.__(
                'APIs: %1 recommended, %2 used',
                props.recommended,
                props.used
              )
            : trans.__('APIs: %1 used', props.used)}
        </span>
      </Row>
    );
  }
);

export const ApiRow = React.memo(
  (
    props: IRow & {
      path: string;
      apiKind: string;
      signature: string;
      doc: string;
      recommended: boolean;
      used: boolean;
    }
  ): React.JSX.Element => {
    const trans = useTrans();
    const { path, apiKind, signature, doc, open } = props;
    const hover = [apiKind, signature, doc].filter(Boolean).join('\n');
    return (
      <Row {...props} kind="api" title={open ? undefined : hover || undefined}>
        <span className="jp-Explora-name">{path}</span>
        {props.used && (
          <span className="jp-Explora-chip">{trans.__('used')}</span>
        )}
        {!props.recommended && (
          <span className="jp-Explora-note">{trans.__('not recommended')}</span>
        )}
        {open && signature && (
          <code className="jp-Explora-signature">{signature}</code>
        )}
        {open && doc && <span className="jp-Explora-doc">{doc}</span>}
      </Row>
    );
  }
);

export const MoreRow = React.memo(
  (props: IRow & { hidden: number }): React.JSX.Element => {
    const trans = useTrans();
    return (
      <Row {...props} open={null} kind="more">
        <span>
          {trans._n(
            'Show all candidates (%1 more)',
            'Show all candidates (%1 more)',
            props.hidden
          )}
        </span>
      </Row>
    );
  }
);

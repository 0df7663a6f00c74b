/** The code of a candidate. Lines that differ from the base are marked by signs and elements, not by color alone. */
import * as React from 'react';

import { useTrans } from '../sidebar/sidebarContext';
import type { ICodePart } from './codeDiff';
import { compareCode } from './codeDiff';

export const CodeView = React.memo(
  (props: {
    code: string;
    /** The code to compare with, if any. */
    base: string | null;
    label: string;
  }): React.JSX.Element => {
    const { code, base, label } = props;
    const parts = React.useMemo(() => compareCode(base, code), [base, code]);
    return (
      <div
        className="jp-Explora-boardCode"
        role="region"
        aria-label={label}
        tabIndex={0}
      >
        {parts.map((part, index) => (
          <CodePart key={index} {...part} />
        ))}
      </div>
    );
  }
);

function CodePart(props: ICodePart): React.JSX.Element {
  const trans = useTrans();
  const lines = props.text.split('\n').map((line, index) => (
    <span key={index} className="jp-Explora-boardLine">
      {line || ' '}
    </span>
  ));
  switch (props.kind) {
    case 'same':
      return <code>{lines}</code>;
    case 'added':
      return (
        <ins>
          <Unseen text={trans.__('Added:')} />
          <code>{lines}</code>
        </ins>
      );
    case 'removed':
      return (
        <del>
          <Unseen text={trans.__('Removed:')} />
          <code>{lines}</code>
        </del>
      );
  }
}

/** Text for screen readers. */
function Unseen({ text }: { text: string }): React.JSX.Element {
  return <span className="jp-Explora-unseen">{text}</span>;
}

/** The code of a candidate. Lines that differ from the base are marked by signs and elements, not by color alone. */
import * as React from 'react';

import { useTrans } from '../shared/translation';
import { useBoardServices } from './boardContext';
import type { ICodePart } from '../shared/codeDiff';
import { compareCode } from '../shared/codeDiff';

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

function CodePart({ kind, text }: ICodePart): React.JSX.Element {
  const trans = useTrans();
  switch (kind) {
    case 'same':
      return <Lines sign=" " text={text} />;
    case 'added':
      return (
        <ins>
          <span className="jp-Explora-unseen">{trans.__('Added:')}</span>
          <Lines sign="+" text={text} />
        </ins>
      );
    case 'removed':
      return (
        <del>
          <span className="jp-Explora-unseen">{trans.__('Removed:')}</span>
          <Lines sign="-" text={text} />
        </del>
      );
  }
}

/** Lines of code, each with a sign before it. */
function Lines(props: { sign: string; text: string }): React.JSX.Element {
  const { sign, text } = props;
  const { highlight } = useBoardServices();
  const node = React.useRef<HTMLElement>(null);
  React.useLayoutEffect(() => {
    const shown = node.current!;
    shown.textContent = text;
    let current = true;
    const colored = document.createElement('code');
    void highlight(text, colored).then(() => {
      if (current) {
        shown.replaceChildren(...colored.childNodes);
      }
    });
    return () => {
      current = false;
    };
  }, [text, highlight]);
  const signs = text.split('\n').fill(sign).join('\n');
  return (
    <span className="jp-Explora-boardLines">
      <span className="jp-Explora-boardSigns" aria-hidden="true">
        {signs}
      </span>
      <code ref={node} />
    </span>
  );
}

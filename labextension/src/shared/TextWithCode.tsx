/**
 * Text written by a user, a model or a library. Text between backticks is rendered as code, and so is a fenced block,
 * whose end may have been cut off.
 */
import * as React from 'react';

const FENCED = /```\w*\s+([^`]+?)\s*(?:```|$)/g;
const CODE = new RegExp(`${FENCED.source}|\`([^\`\\n]+)\``);

export function TextWithCode(props: { text: string }): React.JSX.Element {
  // `split` returns a text, then what the two groups matched, and so on.
  const parts = props.text.split(CODE);
  return (
    <>
      {parts.map((part, index) =>
        index % 3 && part ? <code key={index}>{part}</code> : part
      )}
    </>
  );
}

/** The text without backticks, for places where markup is not possible. */
export function stripBackticks(text: string): string {
  return text.replace(FENCED, '$1').replace(/`/g, '');
}

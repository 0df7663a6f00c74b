/**
 * Text written by a user, a model or a library. Text between backticks is rendered as code.
 */
import * as React from 'react';

const CODE = /`([^`\n]+)`/;

export function TextWithCode(props: { text: string }): React.JSX.Element {
  // `split` returns the text matched by the group at every odd index.
  const parts = props.text.split(CODE);
  return (
    <>
      {parts.map((part, index) =>
        index % 2 ? <code key={index}>{part}</code> : part
      )}
    </>
  );
}

/** The text without backticks, for places where markup is not possible. */
export function stripBackticks(text: string): string {
  return text.replace(/`/g, '');
}

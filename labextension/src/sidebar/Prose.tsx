/**
 * What a person, a model or a library wrote: text, with what stands between backticks as code.
 */
import * as React from 'react';

const CODE = /`([^`\n]+)`/;

export function Prose(props: { text: string }): React.JSX.Element {
  // What a group of the separator matched is every second part.
  const parts = props.text.split(CODE);
  return (
    <>
      {parts.map((part, index) =>
        index % 2 ? <code key={index}>{part}</code> : part
      )}
    </>
  );
}

/** The same where there can be no markup. */
export function stripBackticks(text: string): string {
  return text.replace(/`/g, '');
}

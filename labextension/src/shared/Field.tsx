/** A labelled field of a form, with its note or its error. */
import * as React from 'react';

export function Field(props: {
  id: string;
  label: string;
  problem?: string;
  note?: string;
  children: React.ReactNode;
}): React.JSX.Element {
  const { id, label, problem, note } = props;
  return (
    <div className="jp-Explora-field">
      <label htmlFor={id}>{label}</label>
      {props.children}
      {problem ? (
        <p id={`${id}-note`} className="jp-Explora-problem" role="alert">
          {problem}
        </p>
      ) : (
        note && (
          <p id={`${id}-note`} className="jp-Explora-note">
            {note}
          </p>
        )
      )}
    </div>
  );
}

/** The id of the field's note or error, if it has one. */
export function noteId(
  id: string,
  text: string | undefined
): string | undefined {
  return text ? `${id}-note` : undefined;
}

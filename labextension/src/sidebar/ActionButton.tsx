/**
 * A button that shows while its action is pending. It is not disabled meanwhile, since it would lose the focus.
 */
import * as React from 'react';

export function ActionButton(props: {
  /** Whether the action is pending. Further clicks are then ignored. */
  pending: boolean;
  className?: string;
  title?: string;
  type?: 'button' | 'submit';
  onClick?: () => void;
  children: React.ReactNode;
}): React.JSX.Element {
  const { pending, className = '', type = 'button', onClick } = props;
  const press = (event: React.MouseEvent) => {
    if (pending) {
      event.preventDefault();
    } else {
      onClick?.();
    }
  };
  return (
    <button
      type={type}
      className={`jp-Explora-button ${className}`.trim()}
      aria-disabled={pending}
      title={props.title}
      onClick={press}
    >
      {props.children}
    </button>
  );
}

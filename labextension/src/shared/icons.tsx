/**
 * The sidebar's icon, and the icons shown before the text of a status.
 */
import { LabIcon } from '@jupyterlab/ui-components';
import * as React from 'react';

import exploration from '../../style/icons/exploration.svg';
import type { StatusIcon } from './statusLabels';

export const explorationIcon = new LabIcon({
  name: 'exploracoder-jupyter:exploration',
  svgstr: exploration
});

const SHAPES: Record<StatusIcon, React.JSX.Element> = {
  planned: <circle cx="8" cy="8" r="5" />,
  busy: <path d="M8 3a5 5 0 1 1-5 5" />,
  good: <path d="M3 8.5l3.5 3.5L13 4.5" />,
  half: (
    <>
      <circle cx="8" cy="8" r="5" />
      <path d="M8 3a5 5 0 0 1 0 10z" fill="currentColor" />
    </>
  ),
  bad: <path d="M4 4l8 8M12 4l-8 8" />,
  skipped: <path d="M3 4l5 4-5 4M8 4l5 4-5 4" />,
  stopped: <rect x="4" y="4" width="8" height="8" fill="currentColor" />,
  asking: <path d="M5.5 6a2.5 2.5 0 1 1 3.6 2.2c-.8.4-1.1.9-1.1 1.8M8 13v.2" />,
  same: <path d="M4 6h8M4 10h8" />
};

/** A status icon, hidden from screen readers because the text next to it says the same. */
export function StatusGlyph(props: { sign: StatusIcon }): React.JSX.Element {
  return (
    <svg
      className={`jp-Explora-sign jp-mod-${props.sign}`}
      viewBox="0 0 16 16"
      aria-hidden="true"
      focusable="false"
    >
      {SHAPES[props.sign]}
    </svg>
  );
}

/** The triangle before an item that can be expanded. */
export function Chevron(props: { open: boolean }): React.JSX.Element {
  return (
    <svg
      className="jp-Explora-chevron"
      viewBox="0 0 16 16"
      aria-hidden="true"
      focusable="false"
    >
      <path d={props.open ? 'M4 6l4 4 4-4' : 'M6 4l4 4-4 4'} />
    </svg>
  );
}

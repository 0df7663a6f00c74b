/** What the board's components need of the application: how outputs are rendered, and an editor for code. */
import type { CodeEditor } from '@jupyterlab/codeeditor';
import type { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import * as React from 'react';

export interface IBoardServices {
  /** The renderers of the notebook. */
  readonly rendermime: IRenderMimeRegistry;
  /** Append code to an element, with the colors of its syntax. */
  readonly highlight: (code: string, element: HTMLElement) => Promise<void>;
  /** The application's editor. */
  readonly editorFactory: CodeEditor.Factory;
  /** MIME type of the code. */
  readonly mimeType: string;
  /** Ask the user before an ended run is continued with another candidate. */
  confirmChoice(candidate: string): Promise<boolean>;
}

const Services = React.createContext<IBoardServices | null>(null);

export const BoardServicesProvider = Services.Provider;

export function useBoardServices(): IBoardServices {
  const services = React.useContext(Services);
  if (!services) {
    throw new Error('The board has no services.');
  }
  return services;
}
